import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { EventStream } from '../event-stream.ts'
import type { ContainerEvent, ContainerEventType } from '../runtime.ts'
import type { Connection } from './connection.ts'
import { isUnimplemented, unlessMissing } from './errors.ts'
import { CONTAINER_STATES } from './messages/container.ts'
import { EVENT_TYPES, TaskEvent } from './messages/runtime.ts'
import { SANDBOX_STATES } from './messages/sandbox.ts'
import { METHOD } from './methods.ts'

export interface EventsOptions {
  readonly connection: Connection
  readonly clock: Clock
  readonly log: Logger
}

type Source = (signal: AbortSignal) => AsyncIterable<void>

/** The place of a type in the life of a container. */
const RANK: Readonly<Record<ContainerEventType, number>> = { CREATED: 0, STARTED: 1, STOPPED: 2, DELETED: 3 }
const TYPE_OF_STATE = { CREATED: 'CREATED', RUNNING: 'STARTED', EXITED: 'STOPPED', UNKNOWN: 'STOPPED' } as const
const TYPE_OF_SANDBOX = { READY: 'STARTED', NOTREADY: 'STOPPED' } as const
const CONTAINERD_NAMESPACE = 'k8s.io'
const EXIT = '/tasks/exit'
const OUT_OF_MEMORY = '/tasks/oom'
const RELIST_EVERY = 1000
/** A stream may have lost something without saying so. */
const REPAIR_EVERY = 60_000
const RECONNECT_AFTER = 200
const REMEMBERED = 1024
const SETTLE_STEPS = 12
const SETTLE_FIRST = 5

/**
 * The life of containers, from every source there is: the calls made here, CRI's events, else containerd's own, else lists
 * every second. Each step of a container is told once, whoever tells it first.
 */
export class CriEvents {
  readonly #options: EventsOptions
  readonly #stream = new EventStream()
  readonly #stop = new AbortController()
  readonly #known = new Map<string, { sandboxId: string; rank: number }>()
  readonly #following: Promise<void>
  /** Ids are never used again; lists and streams may still name those that are gone. */
  readonly #deleted = new Set<string>()
  readonly #outOfMemory = new Set<string>()
  #lastList = 0

  private constructor(options: EventsOptions) {
    this.#options = options
    this.#following = this.#follow()
  }

  static async start(options: EventsOptions): Promise<CriEvents> {
    const events = new CriEvents(options)
    await events.#relist()
    return events
  }

  read(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    return this.#stream.read(signal)
  }

  /** The sandbox of a container, if it has been seen. */
  sandboxOf(containerId: string): string | undefined {
    return this.#known.get(containerId)?.sandboxId
  }

  /** Whether the kernel killed one of its processes for want of memory. */
  wasOutOfMemory(containerId: string): boolean {
    return this.#outOfMemory.has(containerId)
  }

  containersOf(sandboxId: string): string[] {
    return [...this.#known].flatMap(([id, one]) => (one.sandboxId === sandboxId && id !== sandboxId ? [id] : []))
  }

  /** What has happened to a container, or with the id of a sandbox to that. */
  note(containerId: string, sandboxId: string, type: ContainerEventType): void {
    const rank = RANK[type]
    const known = this.#known.get(containerId)
    if (known ? known.rank >= rank : type === 'DELETED' || this.#deleted.has(containerId)) return
    if (type === 'DELETED') this.#forget(containerId)
    else this.#known.set(containerId, { sandboxId, rank })
    this.#stream.emit({ type, containerId, sandboxId })
  }

  #forget(containerId: string): void {
    this.#known.delete(containerId)
    this.#outOfMemory.delete(containerId)
    this.#deleted.add(containerId)
    for (const oldest of this.#deleted) {
      if (this.#deleted.size <= REMEMBERED) break
      this.#deleted.delete(oldest)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#following
  }

  async #follow(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#stop
    const sources: Source[] = [(s) => this.#fromCri(s), (s) => this.#fromContainerd(s), (s) => this.#fromLists(s)]
    while (!signal.aborted) {
      try {
        await this.#drain(sources[0]!, signal)
      } catch (error) {
        if (isUnimplemented(error) && sources.length > 1) sources.shift()
        else if (!signal.aborted) log.debug('the events of the runtime broke off', { error })
      }
      await clock.sleep(RECONNECT_AFTER, signal).catch(() => {})
    }
  }

  /** What happened before the stream was there is found by a list. */
  async #drain(source: Source, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const iterator = source(signal)[Symbol.asyncIterator]()
    let next = iterator.next()
    next.catch(() => {})
    await this.#relist()
    while (!(await next).done) {
      if (clock.now() - this.#lastList > REPAIR_EVERY)
        await this.#relist().catch((error: unknown) => log.debug('the runtime did not list its containers', { error }))
      next = iterator.next()
    }
  }

  async *#fromCri(signal: AbortSignal): AsyncGenerator<void> {
    for await (const event of this.#options.connection.stream(METHOD.containerEvents, {}, { signal })) {
      const id = event.container_id ?? ''
      const sandboxId = event.pod_sandbox_status?.id ?? this.sandboxOf(id)
      if (sandboxId !== undefined) this.note(id, sandboxId, EVENT_TYPES[event.container_event_type ?? 0]!)
      yield
    }
  }

  /** Only ends are told: all else is done by calls from here. */
  async *#fromContainerd(signal: AbortSignal): AsyncGenerator<void> {
    const headers = { 'containerd-namespace': CONTAINERD_NAMESPACE }
    const filters = [EXIT, OUT_OF_MEMORY].map((topic) => `namespace==${CONTAINERD_NAMESPACE},topic=="${topic}"`)
    const stream = this.#options.connection.stream(METHOD.subscribe, { filters }, { signal, headers })
    for await (const { topic, event } of stream) {
      const { container_id: id = '', id: process } = TaskEvent.decode(event?.value ?? Buffer.alloc(0))
      const sandboxId = this.sandboxOf(id)
      if (sandboxId !== undefined && topic === OUT_OF_MEMORY) this.#ranOutOfMemory(id, sandboxId)
      // Commands run by exec have another id than their container.
      else if (sandboxId !== undefined && process === id) void this.#ended(id, sandboxId).catch(() => {})
      yield
    }
  }

  /** Nothing orders this before the end of the container: whoever was told of that is told again, now with the reason. */
  #ranOutOfMemory(containerId: string, sandboxId: string): void {
    this.#outOfMemory.add(containerId)
    if (this.#known.get(containerId)?.rank === RANK.STOPPED)
      this.#stream.emit({ type: 'STOPPED', containerId, sandboxId })
  }

  async *#fromLists(signal: AbortSignal): AsyncGenerator<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(RELIST_EVERY, signal)
      await this.#relist()
      yield
    }
  }

  /** containerd tells of an end a little before its CRI part knows of it. */
  async #ended(id: string, sandboxId: string): Promise<void> {
    const { connection, clock } = this.#options
    const hasEnded = async () => {
      if (id === sandboxId) {
        const answer = await connection.call(METHOD.podSandboxStatus, { pod_sandbox_id: id })
        return SANDBOX_STATES[answer.status?.state ?? 0] === 'NOTREADY'
      }
      const answer = await connection.call(METHOD.containerStatus, { container_id: id })
      return CONTAINER_STATES[answer.status?.state ?? 0] === 'EXITED'
    }
    for (let step = 0; step < SETTLE_STEPS; step++) {
      if ((await hasEnded().catch(unlessMissing)) !== false) break
      await clock.sleep(SETTLE_FIRST * 2 ** step, this.#stop.signal)
    }
    this.note(id, sandboxId, 'STOPPED')
  }

  async #relist(): Promise<void> {
    const { connection, clock } = this.#options
    const before = [...this.#known]
    const [{ items = [] }, { containers = [] }] = await Promise.all([
      connection.call(METHOD.listPodSandbox, {}),
      connection.call(METHOD.listContainers, {}),
    ])
    this.#lastList = clock.now()
    const found = new Set<string>()
    for (const { id = '', state = 0 } of items) {
      found.add(id)
      this.note(id, id, TYPE_OF_SANDBOX[SANDBOX_STATES[state] ?? 'NOTREADY'])
    }
    for (const { id = '', pod_sandbox_id: sandboxId = '', state = 0 } of containers) {
      found.add(id)
      this.note(id, sandboxId, TYPE_OF_STATE[CONTAINER_STATES[state] ?? 'UNKNOWN'])
    }
    for (const [id, { sandboxId }] of before) if (!found.has(id)) this.note(id, sandboxId, 'DELETED')
  }
}
