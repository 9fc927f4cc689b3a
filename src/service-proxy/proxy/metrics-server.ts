import type { MetricsRegistry } from '../../base/metrics.ts'
import { type HttpListener, listenHttp } from './http-listener.ts'

/** `/metrics`, whether it lives, and `/proxyMode`, by which tests and people ask how this node does it. */
export function startMetricsServer(
  port: number,
  host: string | undefined,
  registry: MetricsRegistry,
  mode: () => string,
): Promise<HttpListener> {
  return listenHttp(port, host, (request, response) => {
    switch (request.url) {
      case '/metrics':
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(registry.expose())
        break
      case '/healthz':
        response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('ok')
        break
      case '/proxyMode':
        response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(mode())
        break
      default:
        response.writeHead(404).end('404 page not found\n')
    }
  })
}
