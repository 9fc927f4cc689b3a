import type { Clock } from '../../base/clock.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { Counter, Histogram, MetricsRegistry } from '../../base/metrics.ts'
import type { ApiRequest } from '../request/api-request.ts'
import type { Stage } from './stage.ts'

/** Counts requests and measures how long they take. */
export const measure: Stage = ({ metrics }, request, next) => metrics.observe(request, () => next(request))

/** Metrics by method and code alone, so that their number stays small. */
export class RequestMetrics {
  readonly #clock: Clock
  readonly #total: { labels(...values: string[]): Counter }
  readonly #duration: { labels(...values: string[]): Histogram }
  readonly #counters = new Map<string, Counter>()
  readonly #durations = new Map<string, Histogram>()

  constructor(registry: MetricsRegistry, clock: Clock) {
    this.#clock = clock
    this.#total = registry.counter('apiserver_request_total', 'Requests by method and code.', ['method', 'code'])
    this.#duration = registry.histogram('apiserver_request_duration_seconds', 'Time to answer, watches apart.', [
      'method',
    ])
  }

  /** Runs a request and notes its outcome; many are answered before they return. */
  observe(request: ApiRequest, run: () => void | Promise<void>): void | Promise<void> {
    const started = this.#clock.now()
    const outcome = run()
    if (outcome) return outcome.then(() => this.#note(request, started))
    this.#note(request, started)
  }

  #note(request: ApiRequest, started: number): void {
    const { method, exchange } = request
    this.#counter(method, exchange.status).increment()
    if (request.verb !== 'watch') this.#histogram(method).observe((this.#clock.now() - started) / 1000)
  }

  #counter(method: string, code: number): Counter {
    return getOrCreate(this.#counters, method + code, () => this.#total.labels(method, String(code)))
  }

  #histogram(method: string): Histogram {
    return getOrCreate(this.#durations, method, () => this.#duration.labels(method))
  }
}
