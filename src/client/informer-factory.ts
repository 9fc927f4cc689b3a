import type { Kind } from '../api/kind.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { type Indexes, type Informer, startInformer } from './informer.ts'
import type { ResourceType, Transport } from './transport.ts'

export interface InformerScope<T> {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly indexes?: Indexes<T>
}

/** One informer for all who watch the same objects. Disposing the factory stops them all. */
export interface InformerFactory extends AsyncDisposable {
  /** Starts the informer at the first call; later calls with the same scope share it and may add indexes. */
  informer<T extends KubernetesObject>(kind: Kind<T>, scope?: InformerScope<T>): Informer<T>
  informer<T extends KubernetesObject = KubernetesObject>(type: ResourceType, scope?: InformerScope<T>): Informer<T>
  /** The informer of all objects of a type, if somebody has started it. */
  started(type: ResourceType): Informer | undefined
  /** Resolves when every informer started so far has synced. */
  synced(): Promise<void>
}

export interface InformerFactoryOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export function createInformerFactory(options: InformerFactoryOptions): InformerFactory {
  const informers = new Map<string, Informer>()
  function informer<T extends KubernetesObject>(type: ResourceType, scope: InformerScope<T> = {}): Informer<T> {
    const { group, version, plural, namespaced } = type
    const key = keyOf(type, scope)
    const known = informers.get(key) as Informer<T> | undefined
    if (known) {
      known.addIndexes(scope.indexes ?? {})
      return known
    }
    const started = startInformer<T>({ ...options, resource: { group, version, plural, namespaced }, ...scope })
    informers.set(key, started as unknown as Informer)
    return started
  }
  return {
    informer,
    started: (type) => informers.get(keyOf(type, {})),
    async synced() {
      await Promise.all([...informers.values()].map((one) => one.synced))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...informers.values()].map((one) => one[Symbol.asyncDispose]()))
      informers.clear()
    },
  }
}

function keyOf({ group, version, plural }: ResourceType, scope: InformerScope<never>): string {
  const { namespace = '', labelSelector = '', fieldSelector = '' } = scope
  return [group, version, plural, namespace, labelSelector, fieldSelector].join('|')
}
