/** What a process consists of: an ordered list of parts. Starting walks the list, stopping walks it backwards. */
import { aborted } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'

/** One part. `C` is what the parts of a list share: a part reads what earlier ones put there. */
export interface Part<C> {
  /** As `sampan status` prints it. */
  readonly name: string
  /** Whether this process has the part; it has unless this says no. */
  isNeeded?(context: C): boolean
  /** The next part starts when this resolves. */
  start(context: C): PromiseLike<void> | void
  /** Ends what `start` began. */
  stop?(context: C): PromiseLike<void> | void
  /** Takes away what would outlive the process, before all parts stop. */
  remove?(context: C): PromiseLike<void> | void
  /** Starts once the process is ready, while the parts after it start. Such parts start one after the other too. */
  readonly inBackground?: true
}

export interface PartStatus {
  readonly name: string
  readonly state: 'waiting' | 'starting' | 'running' | 'failed'
  /** When it came to this state, in milliseconds since the epoch. */
  readonly since: number
  readonly error?: string
}

export interface PartsOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  /** When parts in the background may start. Without it they start in their turn, like all others. */
  readonly ready?: Promise<void>
  /** Called after each change of a status. */
  onChange?(status: readonly PartStatus[]): void
}

export class Parts<C> implements AsyncDisposable {
  readonly #parts: readonly Part<C>[]
  readonly #context: C
  readonly #options: PartsOptions
  readonly #status = new Map<Part<C>, PartStatus>()
  readonly #started = new Set<Part<C>>()
  #background: Promise<void> = Promise.resolve()
  readonly #stopping = new AbortController()

  constructor(parts: readonly Part<C>[], context: C, options: PartsOptions) {
    this.#parts = parts.filter((part) => part.isNeeded?.(context) ?? true)
    this.#context = context
    this.#options = options
    for (const part of this.#parts) this.#set(part, 'waiting')
  }

  /** In the order of the list. */
  get status(): readonly PartStatus[] {
    return this.#parts.map((part) => this.#status.get(part)!)
  }

  /** Starts the parts in order. If one fails, those that were started stop. */
  async start(): Promise<void> {
    const { ready } = this.#options
    if (ready) this.#background = Promise.race([ready, aborted(this.#stopping.signal)])
    try {
      for (const part of this.#parts) {
        if (part.inBackground && ready) this.#startLater(part)
        else await this.#start(part)
      }
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Has each part take away what would outlive it, the last one first. */
  async remove(): Promise<void> {
    for (const part of this.#backwards()) await part.remove?.(this.#context)
  }

  /** Stops the parts, the last one first. One that fails does not keep the others from stopping. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#background
    const failures: unknown[] = []
    for (const part of this.#backwards()) {
      this.#started.delete(part)
      try {
        await part.stop?.(this.#context)
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /** What was started, against the order of the list: in the background a part may start after later ones. */
  #backwards(): readonly Part<C>[] {
    return this.#parts.filter((part) => this.#started.has(part)).toReversed()
  }

  /** A failure in the background is logged: the process goes on without this part and the ones that wait for it. */
  #startLater(part: Part<C>): void {
    this.#background = this.#background.then(async () => {
      if (this.#parts.some((other) => other.inBackground && this.#status.get(other)?.state === 'failed')) return
      await this.#start(part).catch((error: unknown) =>
        this.#options.log.error(`failed to start ${part.name}`, { error }),
      )
    })
  }

  async #start(part: Part<C>): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#set(part, 'starting')
    try {
      await part.start(this.#context)
    } catch (error) {
      this.#set(part, 'failed', { error: (error as Error).message })
      throw error
    }
    this.#started.add(part)
    this.#set(part, 'running')
  }

  #set(part: Part<C>, state: PartStatus['state'], more: { error?: string } = {}): void {
    this.#status.set(part, { name: part.name, state, since: this.#options.clock.now(), ...more })
    this.#options.onChange?.(this.status)
  }
}
