/** All plugins, in the order in which a query meets them, whatever the order in the Corefile: CoreDNS's own. */
import type { PluginKind } from './plugin.ts'
import { cacheKind } from './plugins/cache/cache.ts'
import { errorsKind } from './plugins/errors/errors.ts'
import { forwardKind } from './plugins/forward/forward.ts'
import { healthKind } from './plugins/health/health.ts'
import { hostsKind } from './plugins/hosts/hosts.ts'
import { kubernetesKind } from './plugins/kubernetes/kubernetes-kind.ts'
import { loadbalanceKind } from './plugins/loadbalance/loadbalance.ts'
import { logKind } from './plugins/log/log.ts'
import { loopKind } from './plugins/loop/loop.ts'
import { prometheusKind } from './plugins/prometheus/prometheus.ts'
import { readyKind } from './plugins/ready/ready.ts'
import { reloadKind } from './plugins/reload/reload.ts'
import { rewriteKind } from './plugins/rewrite/rewrite.ts'

export const PLUGINS: readonly PluginKind[] = [
  reloadKind,
  readyKind,
  healthKind,
  prometheusKind,
  errorsKind,
  logKind,
  loadbalanceKind,
  cacheKind,
  rewriteKind,
  hostsKind,
  kubernetesKind,
  loopKind,
  forwardKind,
]
