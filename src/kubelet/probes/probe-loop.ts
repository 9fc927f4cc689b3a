import type { Probe } from '../../api/generated/core-v1.ts'
import { deadline, linkAbort } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { type ProbeContext, type ProbeOutcome, type ProbeTarget, runProbe } from './run-probe.ts'

export type ProbeType = 'Liveness' | 'Readiness' | 'Startup'
export type ProbeResult = 'Success' | 'Failure'

export interface ProbeLoopOptions {
  readonly type: ProbeType
  readonly probe: Probe
  readonly target: ProbeTarget
  readonly context: ProbeContext
  readonly clock: Clock
  /** What held when another process probed the container before this one. */
  readonly known?: ProbeResult
  /** When the container was started. */
  readonly startedAt: number
  /** Liveness and readiness wait for the startup probe. */
  readonly mayRun: () => boolean
  readonly onResult: (result: ProbeResult) => void
  readonly onOutcome: (type: ProbeType, outcome: ProbeOutcome | Error) => void
}

const TRIES = 3

/** Probes one container again and again, and tells when its result has changed for good. */
export class ProbeLoop {
  readonly #options: ProbeLoopOptions
  readonly #stop = linkAbort()
  #result: ProbeResult | undefined
  #last: ProbeResult | undefined
  #run = 0
  #wake: (() => void) | undefined

  constructor(options: ProbeLoopOptions) {
    this.#options = options
    this.#result = options.known
    void this.#loop()
  }

  /** The result that holds now, once there is one. */
  get result(): ProbeResult | undefined {
    return this.#result
  }

  /** Probes now instead of at the end of the period. */
  trigger(): void {
    this.#wake?.()
  }

  stop(): void {
    this.#stop.abort()
    this.#wake?.()
  }

  async #loop(): Promise<void> {
    const { probe, clock, startedAt, mayRun, type, known } = this.#options
    if (type === 'Startup' && known === 'Success') return
    const { signal } = this.#stop
    const begin = startedAt + (probe.initialDelaySeconds ?? 0) * 1000
    while (clock.now() < begin && !signal.aborted) await this.#pause(begin - clock.now())
    while (!signal.aborted) {
      const due = clock.now() + (probe.periodSeconds ?? 10) * 1000
      if (mayRun()) await this.#probe()
      // A container that is about to be killed, or has started, needs no further answer.
      if (this.#result === 'Failure' && type !== 'Readiness') return
      if (this.#result === 'Success' && type === 'Startup') return
      await this.#pause(due - clock.now())
    }
  }

  #pause(delay: number): Promise<void> {
    if (delay <= 0 || this.#stop.signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(delay, () => finish())
      timer.unref()
      const finish = () => {
        timer.cancel()
        this.#wake = undefined
        resolve()
      }
      this.#wake = finish
    })
  }

  async #probe(): Promise<void> {
    const { type, probe, onOutcome, onResult } = this.#options
    const outcome = await this.#attempt()
    if (this.#stop.signal.aborted) return
    if (outcome instanceof Error || outcome.result !== 'Success') onOutcome(type, outcome)
    if (outcome instanceof Error) return
    const result = outcome.result === 'Failure' ? 'Failure' : 'Success'
    this.#run = result === this.#last ? this.#run + 1 : 1
    this.#last = result
    const threshold = result === 'Failure' ? (probe.failureThreshold ?? 3) : (probe.successThreshold ?? 1)
    if (this.#run < threshold || result === this.#result) return
    this.#result = result
    onResult(result)
  }

  /** What cannot even be tried is tried again at once. */
  async #attempt(): Promise<ProbeOutcome | Error> {
    const { context, probe, target, clock } = this.#options
    let last: unknown
    for (let i = 0; i < TRIES && !this.#stop.signal.aborted; i++) {
      const limit = deadline(clock, (probe.timeoutSeconds ?? 1) * 1000, this.#stop.signal)
      try {
        return await runProbe(context, probe, target, limit.signal)
      } catch (error) {
        last = error
      } finally {
        limit[Symbol.dispose]()
      }
    }
    return last instanceof Error ? last : new Error(String(last))
  }
}
