import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/generated/core-v1.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'
import { type FollowContext, follow } from '../../watch-cache/follow.ts'
import { storagePrefix } from '../../watch-cache/storage-key.ts'
import { podReferences } from './pod-references.ts'

interface KnownPod {
  readonly uid: string
  readonly node: string
  /** Grows when a debugging container is added or a claim is made: then the pod needs more. */
  readonly parts: number
  readonly references: ReadonlySet<string>
}

/** Which nodes need an object, because of the pods that are bound to them. Built when the first node asks. */
export class NodeGraph {
  readonly #context: FollowContext
  readonly #pods = new Map<string, KnownPod>()
  /** By node: what it needs, and how many of its pods need it. */
  readonly #needs = new Map<string, Map<string, number>>()
  #ready: Promise<void> | undefined

  constructor(context: FollowContext) {
    this.#context = context
  }

  /** Whether a pod of the node needs the object. */
  async isNeeded(node: string, resource: string, namespace: string, name: string): Promise<boolean> {
    this.#ready ??= follow(this.#context, { group: '', plural: 'pods' }, (podNamespace, podName, object) =>
      this.#setPod(`${podNamespace}/${podName}`, object as Pod | undefined),
    )
    await this.#ready
    const needs = this.#needs.get(node)
    if (!needs) return false
    if (needs.has(`${resource} ${namespace}/${name}`)) return true
    if (resource === 'persistentvolumes') return this.#isVolumeOfNeededClaim(needs, name)
    if (resource === 'secrets') return this.#isSecretOfVolume(needs, namespace, name)
    return false
  }

  /** The node that an object itself names as its own. */
  async nodeNameOf(group: string, plural: string, name: string): Promise<string | undefined> {
    const object = (await this.#read(group, plural, name)) as { spec?: { nodeName?: string } } | undefined
    return object?.spec?.nodeName
  }

  #setPod(key: string, pod: Pod | undefined): void {
    const old = this.#pods.get(key)
    const { uid = '' } = pod?.metadata ?? {}
    const node = pod?.spec?.nodeName ?? ''
    const parts = (pod?.spec?.ephemeralContainers?.length ?? 0) + (pod?.status?.resourceClaimStatuses?.length ?? 0)
    if (old && old.uid === uid && old.node === node && old.parts === parts) return
    if (old) this.#count(old, -1)
    this.#pods.delete(key)
    if (!pod || node === '') return
    const known = { uid, node, parts, references: podReferences(pod) }
    this.#pods.set(key, known)
    this.#count(known, 1)
  }

  #count({ node, references }: KnownPod, by: 1 | -1): void {
    const needs = getOrCreate(this.#needs, node, () => new Map<string, number>())
    for (const reference of references) {
      const count = (needs.get(reference) ?? 0) + by
      if (count > 0) needs.set(reference, count)
      else needs.delete(reference)
    }
    if (needs.size === 0) this.#needs.delete(node)
  }

  async #isVolumeOfNeededClaim(needs: ReadonlyMap<string, number>, name: string): Promise<boolean> {
    const volume = (await this.#read('', 'persistentvolumes', name)) as PersistentVolume | undefined
    const claim = volume?.spec?.claimRef
    return claim !== undefined && needs.has(`persistentvolumeclaims ${claim.namespace}/${claim.name}`)
  }

  async #isSecretOfVolume(needs: ReadonlyMap<string, number>, namespace: string, name: string): Promise<boolean> {
    for (const need of needs.keys()) {
      if (!need.startsWith('persistentvolumeclaims ')) continue
      const path = need.slice('persistentvolumeclaims '.length)
      const claim = (await this.#read('', 'persistentvolumeclaims', path)) as PersistentVolumeClaim | undefined
      if (!claim?.spec?.volumeName) continue
      const volume = (await this.#read('', 'persistentvolumes', claim.spec.volumeName)) as PersistentVolume | undefined
      const bound = volume?.spec?.claimRef
      if (bound?.namespace !== claim.metadata.namespace || bound?.name !== claim.metadata.name) continue
      if (volumeSecrets(volume!).some((secret) => secret === `${namespace}/${name}`)) return true
    }
    return false
  }

  async #read(group: string, plural: string, path: string): Promise<KubernetesObject | undefined> {
    const prefix = storagePrefix({ group, plural })
    const { feed } = this.#context
    return (feed.loaded(prefix) ?? (await feed.cache(prefix))).get(prefix + path)?.object
  }
}

/** The secrets that mounting a volume takes, as `namespace/name`. */
function volumeSecrets({ spec }: PersistentVolume): string[] {
  const { csi, azureFile, cephfs, flexVolume, iscsi, rbd, scaleIO, claimRef } = spec ?? {}
  const inClaim = claimRef?.namespace ?? ''
  const references = [
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
    ...[cephfs, flexVolume, iscsi, rbd, scaleIO].map((source) => source?.secretRef),
    azureFile && { namespace: azureFile.secretNamespace, name: azureFile.secretName },
  ]
  return references.flatMap((one) => (one?.name ? [`${one.namespace || inClaim}/${one.name}`] : []))
}
