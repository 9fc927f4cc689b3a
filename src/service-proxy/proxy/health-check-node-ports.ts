import type { ServerResponse } from 'node:http'
import type { Logger } from '../../base/log.ts'
import type { HealthCheck } from '../service-table.ts'
import { type HttpListener, listenHttp } from './http-listener.ts'

interface Opened {
  check: HealthCheck
  listener: HttpListener | undefined
}

export interface HealthCheckNodePortsOptions {
  readonly log: Logger
  readonly host: string | undefined
  isProxyHealthy(): boolean
}

/** Tells the load balancers of Services with an external Local policy which nodes have endpoints: one port for each. */
export class HealthCheckNodePorts implements AsyncDisposable {
  readonly #options: HealthCheckNodePortsOptions
  readonly #opened = new Map<string, Opened>()

  constructor(options: HealthCheckNodePortsOptions) {
    this.#options = options
  }

  /** Opens and closes ports until there is one for each of these; one that is taken is tried again at the next call. */
  async update(checks: Iterable<HealthCheck>): Promise<void> {
    const wanted = new Map<string, HealthCheck>()
    for (const check of checks) wanted.set(check.service, check)
    for (const [service, { check, listener }] of this.#opened) {
      if (wanted.get(service)?.port === check.port) continue
      this.#opened.delete(service)
      await listener?.[Symbol.asyncDispose]()
    }
    for (const [service, check] of wanted) {
      const opened = this.#opened.get(service)
      if (opened) opened.check = check
      if (!opened?.listener) await this.#open(service, check)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.update([])
  }

  async #open(service: string, check: HealthCheck): Promise<void> {
    const entry: Opened = { check, listener: undefined }
    this.#opened.set(service, entry)
    try {
      entry.listener = await listenHttp(check.port, this.#options.host, (_, response) =>
        this.#answer(entry.check, response),
      )
    } catch (error) {
      this.#options.log.warn('a health check node port cannot be opened', { service, port: check.port, error })
    }
  }

  #answer({ service, localEndpoints }: HealthCheck, response: ServerResponse): void {
    const [namespace, name] = service.split('/') as [string, string]
    const serviceProxyHealthy = this.#options.isProxyHealthy()
    const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy }
    response.writeHead(localEndpoints > 0 && serviceProxyHealthy ? 200 : 503, {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': String(localEndpoints),
    })
    response.end(`${JSON.stringify(body, null, '\t')}\n`)
  }
}
