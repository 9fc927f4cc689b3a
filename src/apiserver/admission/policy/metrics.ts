import type { MetricsRegistry } from '../../../base/metrics.ts'

/** What policies think of requests. */
export class PolicyMetrics {
  readonly #checks

  constructor(registry: MetricsRegistry, type: 'validating' | 'mutating') {
    this.#checks = registry.counter(
      `apiserver_${type}_admission_policy_check_total`,
      `Requests that ${type} admission policies were asked about.`,
      ['policy', 'policy_binding', 'enforcement_action'],
    )
  }

  checked(policy: string, binding: string, action: string): void {
    this.#checks.labels(policy, binding, action).increment()
  }
}
