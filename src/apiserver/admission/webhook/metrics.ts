import type { MetricsRegistry } from '../../../base/metrics.ts'

export type WebhookType = 'admit' | 'validating'
type Outcome = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error'

/** How long webhooks take, what they refuse and how often they fail. */
export class WebhookMetrics {
  readonly #duration
  readonly #requests
  readonly #rejections
  readonly #failOpen

  constructor(registry: MetricsRegistry) {
    const prefix = 'apiserver_admission_webhook'
    const labels = ['name', 'type', 'operation', 'rejected']
    this.#duration = registry.histogram(
      `${prefix}_admission_duration_seconds`,
      'Time that admission webhooks take.',
      labels,
      [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
    )
    this.#requests = registry.counter(`${prefix}_request_total`, 'Calls of admission webhooks.', [...labels, 'code'])
    this.#rejections = registry.counter(`${prefix}_rejection_count`, 'Requests that admission webhooks refused.', [
      'name',
      'type',
      'operation',
      'error_type',
      'rejection_code',
    ])
    this.#failOpen = registry.counter(
      `${prefix}_fail_open_count`,
      'Failures of admission webhooks that were ignored.',
      ['name', 'type'],
    )
  }

  called(name: string, type: WebhookType, operation: string, rejected: boolean, code: number, milliseconds: number) {
    this.#duration.labels(name, type, operation, String(rejected)).observe(milliseconds / 1000)
    this.#requests.labels(name, type, operation, String(rejected), String(code)).increment()
  }

  rejected(name: string, type: WebhookType, operation: string, outcome: Outcome, code: number) {
    this.#rejections.labels(name, type, operation, outcome, String(code)).increment()
  }

  failedOpen(name: string, type: WebhookType) {
    this.#failOpen.labels(name, type).increment()
  }
}
