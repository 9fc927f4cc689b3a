import type { MetricsRegistry } from '../../base/metrics.ts'
import type { ServiceTable } from '../service-table.ts'

const SYNC_BUCKETS = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8, 16]
const PROGRAMMING_BUCKETS = [0, 0.01, 0.05, 0.25, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 60, 120, 300]

export type ProxyMetrics = ReturnType<typeof proxyMetrics>

/** Under the names that dashboards for kube-proxy ask for. */
export function proxyMetrics(registry: MetricsRegistry, table: ServiceTable) {
  const prefix = 'kubeproxy_sync_proxy_rules'
  const noLocal = registry.gauge(
    `${prefix}_no_local_endpoints_total`,
    'Service ports with a Local traffic policy and no endpoint on this node.',
    ['traffic_policy'],
  )
  noLocal.labels('internal').readFrom(() => table.noLocalEndpoints.internal)
  noLocal.labels('external').readFrom(() => table.noLocalEndpoints.external)
  registry
    .gauge('sampan_proxy_refused_addresses', 'External addresses of Service ports that are reserved, and not taken.')
    .labels()
    .readFrom(() => [...table.refusedAddresses()].length)
  const histogram = (name: string, help: string) => registry.histogram(name, help, [], SYNC_BUCKETS).labels()
  const counter = (name: string, help: string) => registry.counter(name, help).labels()
  const gauge = (name: string, help: string) => registry.gauge(name, help).labels()
  return {
    sync: histogram(`${prefix}_duration_seconds`, 'Time of a sync.'),
    fullSync: histogram('kubeproxy_sync_full_proxy_rules_duration_seconds', 'Time of a full sync.'),
    partialSync: histogram('kubeproxy_sync_partial_proxy_rules_duration_seconds', 'Time of a sync of changes.'),
    programming: registry
      .histogram(
        'kubeproxy_network_programming_duration_seconds',
        'Time from a change of a pod or Service to the rules that follow from it.',
        [],
        PROGRAMMING_BUCKETS,
      )
      .labels(),
    serviceChanges: counter(`${prefix}_service_changes_total`, 'Changes of Services seen.'),
    endpointChanges: counter(`${prefix}_endpoint_changes_total`, 'Changes of EndpointSlices seen.'),
    failures: counter(`${prefix}_failures_total`, 'Syncs that failed.'),
    lastQueued: gauge(`${prefix}_last_queued_timestamp_seconds`, 'When a sync was last asked for.'),
    lastSynced: gauge(`${prefix}_last_timestamp_seconds`, 'When the rules were last brought up to date.'),
    endedFlows: counter(
      'kubeproxy_conntrack_reconciler_deleted_entries_total',
      'UDP flows ended because they led to no serving endpoint.',
    ),
    healthz: registry.counter('kubeproxy_proxy_healthz_total', 'Answers of /healthz.', ['code']),
    livez: registry.counter('kubeproxy_proxy_livez_total', 'Answers of /livez.', ['code']),
  }
}
