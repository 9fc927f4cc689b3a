import { setImmediate as nextTurn } from 'node:timers/promises'
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
/** Events are told when so long nothing new has happened. */
const PAUSE = 100
/** While there is no end of news, some are told each second. */
const WHILE_BUSY_EVERY = 1000

/** Tells what happened when there is nothing more urgent to do: pods wait for nodes, nobody waits for events. */
export class LateEvents {
  readonly #recorder: EventRecorder
  readonly #clock: Clock
  #waiting: Waiting[] = []
  #isSending = false
  #timer: Timer | undefined
  /** Something happened since the timer was set. */
  #hasNews = false
  #sentAt = 0

  constructor(recorder: EventRecorder, clock: Clock) {
    this.#recorder = recorder
    this.#clock = clock
  }

  /** Those that wait for a pause do not count. */
  get isBusy(): boolean {
    return this.#isSending
  }

  get waiting(): number {
    return this.#waiting.length
  }

  event(pod: Pod, type: EventType, reason: string, message: string): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push({ pod, type, reason, message })
    if (this.#timer) this.#hasNews = true
    else if (!this.#isSending) this.#wait()
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#recorder[Symbol.asyncDispose]()
    this.#waiting = []
  }

  #wait(): void {
    this.#hasNews = false
    this.#timer = this.#clock
      .after(PAUSE, () => {
        this.#timer = undefined
        const isTooEarly = this.#hasNews && this.#clock.now() - this.#sentAt < WHILE_BUSY_EVERY
        if (isTooEarly) this.#wait()
        else void this.#send()
      })
      .unref()
  }

  /** All that wait, or as many as can be told until there is something new. */
  async #send(): Promise<void> {
    this.#isSending = true
    let left: number
    do {
      this.#sentAt = this.#clock.now()
      const some = this.#waiting.splice(0, BATCH)
      left = this.#waiting.length
      for (const { pod, type, reason, message } of some) this.#recorder.event(referenceTo(pod), type, reason, message)
      await this.#recorder.flushed()
      // Also where writing waits for nothing outside, what happened meanwhile must be heard.
      await nextTurn()
    } while (this.#waiting.length > 0 && this.#waiting.length === left)
    this.#isSending = false
    if (this.#waiting.length > 0) this.#wait()
  }
}

function referenceTo({ metadata }: Pod) {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = metadata
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion }
}
