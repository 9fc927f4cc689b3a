import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import type { Clock } from '../../base/clock.ts'
import type { Histogram } from '../../base/metrics.ts'

/** When the changes that wait for rules happened in the world: what the programming latency is measured from. */
export class TriggerTimes {
  readonly #clock: Clock
  readonly #begun: number
  #times: number[] = []

  constructor(clock: Clock) {
    this.#clock = clock
    this.#begun = clock.now()
  }

  note({ metadata }: EndpointSlice): void {
    const time = Date.parse(metadata.annotations?.[ANNOTATION.lastChangeTriggerTime] ?? '')
    // What happened before this process says nothing about it.
    if (time >= this.#begun) this.#times.push(time)
  }

  take(): readonly number[] {
    const times = this.#times
    this.#times = []
    return times
  }

  putBack(times: readonly number[]): void {
    this.#times = [...times, ...this.#times]
  }

  observe(times: readonly number[], histogram: Pick<Histogram, 'observe'>): void {
    for (const time of times) histogram.observe(Math.max(0, this.#clock.now() - time) / 1000)
  }
}
