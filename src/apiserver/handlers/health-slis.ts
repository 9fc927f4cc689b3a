import { MetricsRegistry } from '../../base/metrics.ts'
import { type HealthCheck, isWell } from './health.ts'

const TYPES = ['healthz', 'livez', 'readyz'] as const

/** What `/metrics/slis` tells: how often each check was found well. https://kep.k8s.io/3466 */
export class HealthSlis {
  readonly #checks: readonly HealthCheck[]
  readonly #registry = new MetricsRegistry()
  readonly #now = this.#registry.gauge(
    'kubernetes_healthcheck',
    'Whether a health check was passed when it was last made.',
    ['name', 'type'],
  )
  readonly #total = this.#registry.counter('kubernetes_healthchecks_total', 'Health checks made, by how they ended.', [
    'name',
    'status',
    'type',
  ])

  constructor(checks: readonly HealthCheck[]) {
    this.#checks = checks
  }

  /** Each scrape looks, so that something is told where nobody else asks. */
  async expose(): Promise<string> {
    for (const check of this.#checks) {
      const ok = await isWell(check)
      for (const type of TYPES) {
        this.#now.labels(check.name, type).set(ok ? 1 : 0)
        this.#total.labels(check.name, ok ? 'success' : 'error', type).increment()
      }
    }
    return this.#registry.expose()
  }
}
