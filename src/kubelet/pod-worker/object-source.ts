import type { ConfigMap, Pod, Secret } from '../../api/generated/core-v1.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { Clock } from '../../base/clock.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { type Informer, startInformer } from '../../client/informer.ts'
import type { ResourceType, Transport } from '../../client/transport.ts'

const CONFIG_MAPS: ResourceType = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets', namespaced: true }

type ObjectKind = 'configmaps' | 'secrets'

interface Entry {
  readonly informer: Informer
  readonly pods: Set<string>
}

export interface ObjectSourceOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** An object that this pod refers to has changed. */
  readonly onChange: (podUid: string) => void
}

/**
 * ConfigMaps and Secrets, each watched alone and only while a pod of this node refers to it: a node may see no others.
 */
export class ObjectSource implements AsyncDisposable {
  readonly #options: ObjectSourceOptions
  readonly #entries = new Map<string, Entry>()
  readonly #references = new Map<string, ReadonlySet<string>>()

  constructor(options: ObjectSourceOptions) {
    this.#options = options
  }

  async configMap(namespace: string, name: string): Promise<ConfigMap | undefined> {
    return (await this.#get('configmaps', namespace, name)) as ConfigMap | undefined
  }

  async secret(namespace: string, name: string): Promise<Secret | undefined> {
    return (await this.#get('secrets', namespace, name)) as Secret | undefined
  }

  /** What a pod refers to from now on. */
  refer(pod: Pod): void {
    const uid = pod.metadata.uid ?? ''
    const wanted = new Set(referencesOf(pod))
    const before = this.#references.get(uid)
    this.#references.set(uid, wanted)
    for (const key of wanted) this.#entry(key).pods.add(uid)
    for (const key of before ?? []) if (!wanted.has(key)) this.#release(key, uid)
  }

  forget(uid: string): void {
    for (const key of this.#references.get(uid) ?? []) this.#release(key, uid)
    this.#references.delete(uid)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    await Promise.all(entries.map(({ informer }) => informer[Symbol.asyncDispose]()))
  }

  async #get(kind: ObjectKind, namespace: string, name: string): Promise<KubernetesObject | undefined> {
    const { informer } = this.#entry(`${kind}/${namespace}/${name}`)
    await informer.synced
    return informer.get(`${namespace}/${name}`)
  }

  #entry(key: string): Entry {
    return getOrCreate(this.#entries, key, () => {
      const { onChange, ...options } = this.#options
      const [kind, namespace = '', name = ''] = key.split('/')
      const resource = kind === 'secrets' ? SECRETS : CONFIG_MAPS
      const informer = startInformer({ ...options, resource, namespace, fieldSelector: `metadata.name=${name}` })
      const pods = new Set<string>()
      // The first list is an answer to whoever asked, not a change.
      void informer.synced.then(
        () => {
          let isFirst = true
          informer.onChange(() => {
            if (!isFirst) for (const uid of pods) onChange(uid)
          })
          isFirst = false
        },
        () => {},
      )
      return { informer, pods }
    })
  }

  #release(key: string, uid: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    entry.pods.delete(uid)
    if (entry.pods.size > 0) return
    this.#entries.delete(key)
    void entry.informer[Symbol.asyncDispose]()
  }
}

/** Every ConfigMap and Secret that a pod names. */
export function* referencesOf({ metadata, spec }: Pod): Iterable<string> {
  const config = (name = '') => `configmaps/${metadata.namespace}/${name}`
  const secret = (name = '') => `secrets/${metadata.namespace}/${name}`
  for (const { name } of spec?.imagePullSecrets ?? []) yield secret(name)
  for (const { env = [], envFrom = [] } of [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]) {
    for (const { configMapRef, secretRef } of envFrom) {
      if (configMapRef) yield config(configMapRef.name)
      if (secretRef) yield secret(secretRef.name)
    }
    for (const { valueFrom } of env) {
      if (valueFrom?.configMapKeyRef) yield config(valueFrom.configMapKeyRef.name)
      if (valueFrom?.secretKeyRef) yield secret(valueFrom.secretKeyRef.name)
    }
  }
  for (const volume of spec?.volumes ?? []) {
    if (volume.configMap) yield config(volume.configMap.name)
    if (volume.secret) yield secret(volume.secret.secretName)
    for (const { configMap, secret: one } of volume.projected?.sources ?? []) {
      if (configMap) yield config(configMap.name)
      if (one) yield secret(one.name)
    }
  }
}
