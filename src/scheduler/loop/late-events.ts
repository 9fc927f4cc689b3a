import type { Pod } from '../../api/generated/core-v1.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { EventRecorder, EventType } from '../../client/events.ts'

interface Waiting {
  readonly pod: Pod
  readonly type: EventType
  readonly reason: string
  readonly message: string
}

const BATCH = 200
const MAX_WAITING = 50_000
/** While there is no end of work, some are told each second. */
const WHILE_BUSY_EVERY = 1000

/** Tells what happened when there is nothing more urgent to do: pods wait for nodes, nobody waits for events. */
export class LateEvents {
  readonly #recorder: EventRecorder
  readonly #clock: Clock
  readonly #isBusy: () => boolean
  #waiting: Waiting[] = []
  #isSending = false
  #timer: Timer | undefined

  constructor(recorder: EventRecorder, clock: Clock, isBusy: () => boolean) {
    this.#recorder = recorder
    this.#clock = clock
    this.#isBusy = isBusy
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && !this.#isSending
  }

  event(pod: Pod, type: EventType, reason: string, message: string): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push({ pod, type, reason, message })
    if (!this.#isBusy()) this.idle()
    else
      this.#timer ??= this.#clock
        .after(WHILE_BUSY_EVERY, () => {
          this.#timer = undefined
          void this.#send(false)
        })
        .unref()
  }

  /** There is nothing to decide and nothing to bind. */
  idle(): void {
    if (this.#waiting.length > 0) void this.#send(true)
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#recorder[Symbol.asyncDispose]()
    this.#waiting = []
  }

  async #send(untilBusy: boolean): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    do {
      const some = this.#waiting.splice(0, BATCH)
      for (const { pod, type, reason, message } of some) this.#recorder.event(referenceTo(pod), type, reason, message)
      await this.#recorder.flushed()
    } while (untilBusy && this.#waiting.length > 0 && !this.#isBusy())
    this.#isSending = false
  }
}

function referenceTo({ metadata }: Pod) {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = metadata
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion }
}
