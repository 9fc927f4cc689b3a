import type { Counter, MetricsRegistry } from '../../base/metrics.ts'
import type { Flow } from './flow.ts'
import type { PriorityLevel, RejectReason } from './priority-level.ts'

/** What flow control tells of itself, under the names that dashboards for Kubernetes ask for. */
export function flowMetrics(registry: MetricsRegistry) {
  const prefix = 'apiserver_flowcontrol_'
  const byFlow = ['priority_level', 'flow_schema']
  const byLevel = ['priority_level']
  const dispatched = registry.counter(`${prefix}dispatched_requests_total`, 'Requests that were started.', byFlow)
  const rejected = registry.counter(`${prefix}rejected_requests_total`, 'Requests that were refused.', [
    ...byFlow,
    'reason',
  ])
  const waited = registry.histogram(`${prefix}request_wait_duration_seconds`, 'Time spent waiting for seats.', byFlow)
  const gauges = {
    current_inqueue_requests: ['Requests that wait.', (level) => level.waitingCount],
    current_executing_seats: ['Seats that are taken.', (level) => level.inUse],
    nominal_limit_seats: ['Seats of the level.', (level) => level.nominal],
    current_limit_seats: [
      'Seats of the level with what it has borrowed.',
      (level) => Math.max(level.nominal, level.inUse),
    ],
  } satisfies Record<string, [string, (level: PriorityLevel) => number]>
  const levelGauges = Object.entries(gauges).map(([name, [help, read]]) => {
    const gauge = registry.gauge(prefix + name, help, byLevel)
    return (level: PriorityLevel) => gauge.labels(level.name).readFrom(() => read(level))
  })
  return {
    dispatched: (level: string, schema: string): Counter => dispatched.labels(level, schema),
    rejected: ({ level, schema }: Flow, reason: RejectReason) =>
      rejected.labels(level.name, schema, reason).increment(),
    waited: ({ level, schema }: Flow, seconds: number) => waited.labels(level.name, schema).observe(seconds),
    level(level: PriorityLevel): void {
      for (const gauge of levelGauges) gauge(level)
    },
  }
}
