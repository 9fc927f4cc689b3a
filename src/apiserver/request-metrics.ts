import type { Clock } from '../base/clock.ts'
import { getOrCreate } from '../base/get-or-create.ts'
import type { Counter, Histogram, MetricsRegistry } from '../base/metrics.ts'
import type { Exchange } from './http/exchange.ts'

/** Counts requests and how long they took. What is counted under is kept short: method and code. */
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
  observe(exchange: Exchange, verb: string, run: () => void | Promise<void>): void {
    const started = this.#clock.now()
    const outcome = run()
    if (outcome) void outcome.then(() => this.#note(exchange, verb, started))
    else this.#note(exchange, verb, started)
  }

  #note(exchange: Exchange, verb: string, started: number): void {
    this.#counter(exchange.method, exchange.status).increment()
    if (verb !== 'watch') this.#histogram(exchange.method).observe((this.#clock.now() - started) / 1000)
  }

  #counter(method: string, code: number): Counter {
    return getOrCreate(this.#counters, method + code, () => this.#total.labels(method, String(code)))
  }

  #histogram(method: string): Histogram {
    return getOrCreate(this.#durations, method, () => this.#duration.labels(method))
  }
}
