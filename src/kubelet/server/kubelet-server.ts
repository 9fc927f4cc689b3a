import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  ApiError,
  badRequest,
  forbiddenAccess,
  internalError,
  pathNotFound,
  unauthorized,
} from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import { bodyLengthOf } from '../../base/http-request.ts'
import type { Logger } from '../../base/log.ts'
import type { MetricsRegistry } from '../../base/metrics.ts'
import { HTTP1_TIMEOUTS, SERVER_TLS } from '../../base/server-tls.ts'
import type { Machine } from '../node/machine.ts'
import { cadvisorMetrics, resourceMetrics } from '../stats/prometheus.ts'
import type { StatsCollector } from '../stats/stats-collector.ts'
import { statsSummary } from '../stats/summary.ts'
import { type KubeletUser, rightFor, targetOf, userOf } from './kubelet-request.ts'
import { sendLogFile } from './log-files.ts'
import { logOptions } from './log-query.ts'
import type { PodAccess } from './pod-access.ts'
import { streamRequest, type UpgradeHandler } from './stream-request.ts'

export interface KubeletAccess {
  readonly user: KubeletUser
  readonly verb: 'get' | 'create'
  /** The part of `nodes` that is asked for: `log`, `stats`, `metrics`, `proxy`, `pods`, `healthz`, `configz`. */
  readonly subresource: string
  readonly path: string
}

export interface KubeletServerOptions {
  readonly nodeName: string
  readonly host: string
  readonly port: number
  readonly tls: { readonly cert: string; readonly key: string; readonly clientCa: string }
  readonly authorize: (access: KubeletAccess) => boolean | Promise<boolean>
  readonly upgrade: UpgradeHandler
  readonly access: PodAccess
  /** Where the node has its logs, those of pods below `pods`. */
  readonly logDir: string
  readonly stats: StatsCollector
  readonly machine: Machine
  readonly metrics: MetricsRegistry
  /** A KubeletConfiguration: how this kubelet was started. */
  readonly configuration: object
  readonly clock: Clock
  readonly log: Logger
}

/** As much as Go's server takes. The arguments of `kubectl exec` come in the URL. */
const MAX_HEADER_BYTES = 1024 * 1024
const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8'
const NODES = { group: '', resource: 'nodes' }

type Route = (request: IncomingMessage, response: ServerResponse, url: URL, rest: readonly string[]) => Promise<void>

/** The port of the kubelet, 10250: what the API server, kubectl through it, and monitoring ask a node. */
export class KubeletServer implements AsyncDisposable {
  readonly #options: KubeletServerOptions
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #routes: Readonly<Record<string, Route | undefined>>

  constructor(options: KubeletServerOptions) {
    const { cert, key, clientCa } = options.tls
    this.#options = options
    this.#server = createServer({
      cert,
      key,
      ca: clientCa,
      requestCert: true,
      rejectUnauthorized: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      ...SERVER_TLS,
      ...HTTP1_TIMEOUTS,
    })
    this.#server.on('request', (request, response) => void this.#answer(request, response))
    this.#server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head))
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    this.#routes = this.#table()
  }

  async listen(): Promise<{ host: string; port: number }> {
    const { host, port } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    const address = this.#server.address() as AddressInfo
    return { host: address.address, port: address.port }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #table(): Readonly<Record<string, Route>> {
    const { access, stats, machine, metrics, nodeName, logDir, configuration } = this.#options
    return {
      healthz: async (_, response) => send(response, 'text/plain; charset=utf-8', 'ok'),
      configz: async (_, response) => sendJson(response, { kubeletconfig: configuration }),
      pods: async (_, response) =>
        sendJson(response, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: access.pods() }),
      stats: async (_, response) => sendJson(response, statsSummary(nodeName, await stats.collect())),
      metrics: async (_, response, __, [part]) => {
        if (part === undefined) return send(response, PROMETHEUS, metrics.expose())
        const { sample } = await stats.collect()
        if (part === 'resource') return send(response, PROMETHEUS, resourceMetrics(sample))
        if (part === 'cadvisor') return send(response, PROMETHEUS, cadvisorMetrics(sample, machine))
        throw pathNotFound()
      },
      containerLogs: (request, response, url, rest) => this.#logs(request, response, url, rest),
      logs: (_, response, __, rest) => sendLogFile(logDir, rest, response),
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { url, first, rest } = targetOf(request)
      await this.#admit(request, first, url.pathname)
      const route = Object.hasOwn(this.#routes, first) ? this.#routes[first] : undefined
      if (!route) throw streamRequest(url, this.#options.access) ? badUpgrade() : pathNotFound()
      if (request.method !== 'GET' && request.method !== 'HEAD')
        throw new ApiError(405, 'MethodNotAllowed', 'the method is not allowed here')
      await route(request, response, url, rest)
    } catch (error) {
      this.#fail(request, response, error)
    }
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => {})
    try {
      // Node takes what follows the head for the other protocol.
      if (bodyLengthOf(request) !== 0) throw badRequest('a request with a body cannot switch protocols')
      const { url, first } = targetOf(request)
      await this.#admit(request, first, url.pathname)
      const stream = streamRequest(url, this.#options.access)
      if (!stream) throw pathNotFound()
      await this.#options.upgrade(request, socket, head, stream)
    } catch (error) {
      const { code, message } = asApiError(error)
      const body = Buffer.from(message)
      socket.end(
        `HTTP/1.1 ${code} ${code === 404 ? 'Not Found' : 'Error'}\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${message}`,
      )
    }
  }

  async #admit(request: IncomingMessage, first: string, path: string): Promise<void> {
    const user = userOf(request, this.#options.clock.now())
    if (!user) throw unauthorized()
    const { verb, subresource } = rightFor(request.method, first)
    if (await this.#options.authorize({ user, verb, subresource, path })) return
    const message = `User "${user.name}" cannot ${verb} resource "nodes/${subresource}"`
    throw forbiddenAccess(NODES, this.#options.nodeName, message)
  }

  async #logs(request: IncomingMessage, response: ServerResponse, url: URL, rest: readonly string[]): Promise<void> {
    const [namespace = '', name = '', container = ''] = rest
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const options = logOptions(url.searchParams, this.#options.clock.now())
    const log = this.#options.access.containerLogs({ namespace, name }, container, options, gone.signal)
    response.writeHead(200, { 'Content-Type': 'text/plain' })
    if (options.follow) response.flushHeaders()
    for await (const piece of log) {
      if (gone.signal.aborted || request.destroyed) return
      if (!response.write(piece)) await drained(response, gone.signal)
    }
    response.end()
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const failure = asApiError(error)
    if (failure.code >= 500) this.#options.log.warn('a request to the kubelet failed', { error: String(error) })
    if (response.headersSent) {
      response.destroy()
      return
    }
    // An unread body would be taken for the next request.
    if (!request.complete) response.setHeader('Connection', 'close')
    response.writeHead(failure.code, { 'Content-Type': 'text/plain; charset=utf-8' }).end(failure.message)
  }
}

const asApiError = (error: unknown) => (error instanceof ApiError ? error : internalError(String(error)))
const badUpgrade = () => new ApiError(400, 'BadRequest', 'you must specify at least 1 of stdin, stdout, stderr')

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'Content-Type': type }).end(body)
}

const sendJson = (response: ServerResponse, body: object) => send(response, 'application/json', JSON.stringify(body))

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
