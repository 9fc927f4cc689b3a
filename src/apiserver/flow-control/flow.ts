import type { Counter } from '../../base/metrics.ts'
import type { PriorityLevel } from './priority-level.ts'
import { dealHand } from './shuffle-shard.ts'

/** Requests that are alike for flow control: of one schema, and of one user or namespace where the schema says so. */
export class Flow {
  readonly schema: string
  readonly level: PriorityLevel
  /** Told with every answer. */
  readonly headers: Readonly<Record<string, string>>
  readonly dispatched: Counter
  readonly #distinguisher: string
  #hand: number[] | undefined

  constructor(
    schema: { readonly name: string; readonly uid: string },
    level: PriorityLevel,
    distinguisher: string,
    dispatched: Counter,
  ) {
    this.schema = schema.name
    this.level = level
    this.dispatched = dispatched
    this.#distinguisher = distinguisher
    this.headers = {
      'x-kubernetes-pf-flowschema-uid': schema.uid,
      'x-kubernetes-pf-prioritylevel-uid': level.uid,
    }
  }

  handOf(queues: number, handSize: number): readonly number[] {
    this.#hand ??= dealHand(`${this.schema}\u0000${this.#distinguisher}`, queues, handSize)
    return this.#hand
  }
}
