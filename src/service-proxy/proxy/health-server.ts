import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../base/clock.ts'
import { type HttpListener, listenHttp } from './http-listener.ts'
import type { ProxyHealth } from './proxy-health.ts'
import type { ProxyMetrics } from './proxy-metrics.ts'

export interface HealthServerOptions {
  readonly port: number
  readonly host: string | undefined
  readonly clock: Clock
  readonly health: ProxyHealth
  readonly metrics: Pick<ProxyMetrics, 'healthz' | 'livez'>
  isNodeEligible(): boolean
}

/**
 * `/healthz` tells load balancers whether to send to this node: not if the rules are late, nor if the node is going away.
 * `/livez` is about the proxy alone, so that a node on its way out does not restart it.
 */
export function startHealthServer(options: HealthServerOptions): Promise<HttpListener> {
  return listenHttp(options.port, options.host, (request, response) => answer(options, request, response))
}

function answer(options: HealthServerOptions, request: IncomingMessage, response: ServerResponse): void {
  const { clock, health, metrics } = options
  const path = new URL(request.url ?? '/', 'http://localhost').pathname
  if (path !== '/healthz' && path !== '/livez') {
    response.writeHead(404).end('404 page not found\n')
    return
  }
  const isNodeEligible = options.isNodeEligible()
  const isWell = health.isHealthy && (path === '/livez' || isNodeEligible)
  const code = isWell ? 200 : 503
  metrics[path === '/livez' ? 'livez' : 'healthz'].labels(String(code)).increment()
  const body = {
    lastUpdated: timeText(health.lastUpdated),
    currentTime: timeText(clock.now()),
    ...(path === '/healthz' && { nodeEligible: isNodeEligible }),
  }
  response.writeHead(code, { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' })
  response.end(JSON.stringify(body))
}

const timeText = (time: number) => new Date(time).toISOString()
