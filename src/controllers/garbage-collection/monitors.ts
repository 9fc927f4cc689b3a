import type { KubernetesObject } from '../../api/meta/object.ts'
import { type Informer, startInformer } from '../../client/informer.ts'
import type { ControllerContext } from '../controller.ts'
import { resourceName, type ServedType } from '../served-types.ts'
import { ownershipOnly } from './metadata.ts'

export interface MonitorListener {
  changed(type: ServedType, old: KubernetesObject | undefined, current: KubernetesObject | undefined): void
  /** Nobody watches this object any more; that does not mean that it is gone. */
  forgotten(object: KubernetesObject): void
}

/** Watches the ownership of all objects of every kind that can be collected. */
export class Monitors {
  readonly #context: ControllerContext
  readonly #informers = new Map<string, Informer>()
  readonly #ending: PromiseLike<void>[] = []

  constructor(context: ControllerContext) {
    this.#context = context
  }

  /** What other controllers follow already is followed with them. */
  monitor(type: ServedType): Informer {
    return this.#context.informers.started(type) ?? this.start(type)
  }

  start(type: ServedType): Informer {
    const { client, clock, random, log } = this.#context
    const { group, version, plural, namespaced } = type
    const resource = { group, version, plural, namespaced }
    const informer = startInformer({
      transport: client.transport,
      resource,
      clock,
      random,
      log,
      transform: ownershipOnly,
    })
    this.#informers.set(idOf(type), informer)
    return informer
  }

  /** Follows a definition that came, went or changed its version. */
  follow(before: ServedType | undefined, after: ServedType | undefined, listener: MonitorListener): void {
    if (before && idOf(before) !== (after && idOf(after))) this.#end(idOf(before), listener)
    if (!after || !isCollectable(after) || this.#informers.has(idOf(after))) return
    this.start(after).onChange((old, current) => listener.changed(after, old, current))
  }

  #end(id: string, listener: MonitorListener): void {
    const informer = this.#informers.get(id)
    if (!informer) return
    this.#informers.delete(id)
    this.#ending.push(informer[Symbol.asyncDispose]())
    for (const object of informer.list()) listener.forgotten(object)
  }

  async stop(): Promise<void> {
    const running = [...this.#informers.values()].map((informer) => informer[Symbol.asyncDispose]())
    await Promise.all([...running, ...this.#ending])
  }
}

const idOf = (type: ServedType) => `${type.version}/${resourceName(type)}`

/** Events own nothing and are owned by nobody, and there are too many of them. */
export const isCollectable = ({ plural, verbs }: ServedType) =>
  plural !== 'events' && (['list', 'watch', 'delete'] as const).every((verb) => verbs.includes(verb))
