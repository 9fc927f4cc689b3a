import type { KubernetesObject } from '../api/meta/object.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Client } from '../client/client.ts'
import type { Informer } from '../client/informer.ts'
import type { InformerFactory } from '../client/informer-factory.ts'

/** What a controller works with. Everything it knows comes from informers, everything it does goes through the client. */
export interface ControllerContext {
  readonly client: Client
  readonly informers: InformerFactory
  readonly events: EventRecorder
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Tells users what happened to an object, as `kubectl describe` shows it. Never fails, never waits. */
export interface EventRecorder {
  event(about: KubernetesObject, type: 'Normal' | 'Warning', reason: string, message: string): void
}

/**
 * A loop that brings one thing to the state it should have. It is told a key and nothing else: it reads what is there
 * now and acts, so it makes no difference what woke it, how often, or after which crash.
 */
export interface Controller {
  readonly name: string
  /** How many keys may be in work at once; 1 unless said. The same key never is twice. */
  readonly workers?: number
  /** What wakes it, and for which keys. */
  readonly watches: readonly Watch[]
  /** An error means: again, later and later. */
  reconcile(key: string): Promise<ReconcileResult | void>
  /** Called once before the first reconcile, when all informers have synced. */
  start?(queue: ReconcileQueue): void
  /** Called once after the last reconcile: ends what the controller itself started. */
  stop?(): Promise<void>
}

export interface ReconcileResult {
  /** Milliseconds after which to look again although nothing may have happened. */
  readonly retryAfter?: number
}

/** Lets a controller wake itself, for instance at a time it keeps track of. */
export interface ReconcileQueue {
  add(key: string): void
  addAfter(key: string, milliseconds: number): void
}

/** An informer whose changes concern some keys. Made by `watch`, which keeps the types together. */
export interface Watch {
  readonly informer: Pick<Informer, 'synced'>
  subscribe(enqueue: (key: string) => void): () => void
}

export function watch<T extends KubernetesObject>(
  informer: Informer<T>,
  keysOf: (old: T | undefined, current: T | undefined) => Iterable<string>,
): Watch {
  return {
    informer,
    subscribe: (enqueue) =>
      informer.onChange((old, current) => {
        for (const key of keysOf(old, current)) enqueue(key)
      }),
  }
}

/** The key of the object that changed: for a controller's own kind. */
export function ownKey(old: KubernetesObject | undefined, current: KubernetesObject | undefined): string[] {
  const { namespace, name = '' } = (current ?? old)!.metadata
  return [namespace ? `${namespace}/${name}` : name]
}

/** The keys of the controllers of a dependent: of the one it had and the one it has. */
export function controllerKeys(
  kind: string,
): (old: KubernetesObject | undefined, current: KubernetesObject | undefined) => string[] {
  return (old, current) => {
    const keys = new Set<string>()
    for (const object of [old, current]) {
      const owner = object?.metadata.ownerReferences?.find((reference) => reference.controller)
      if (owner?.kind === kind)
        keys.add(object?.metadata.namespace ? `${object.metadata.namespace}/${owner.name}` : owner.name)
    }
    return [...keys]
  }
}

/** `namespace/name` -> both parts; a cluster-scoped key has no namespace. */
export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
