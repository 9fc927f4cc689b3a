import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { Http2Connection } from '../http2/connection.ts'
import type { Exchange } from './exchange.ts'
import { Http1Exchange, upgradeExchange } from './http1-exchange.ts'
import { Http2Exchange } from './http2-exchange.ts'
import { Turns } from './turns.ts'

export interface TlsOptions {
  readonly key: string
  readonly cert: string
  /** Client certificates signed by this authority name users. */
  readonly clientCa: string
  /** Client certificates signed by this one name no users, but a proxy that speaks for users. */
  readonly proxyCa?: string
}

export interface Listener extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** What new connections are shown from now on. */
  useCertificate(certificate: Pick<TlsOptions, 'key' | 'cert'>): void
}

/**
 * How many requests are begun before other connections are looked at again. One that sends hundreds of requests at once
 * would have all of them served before the next connection is even read: seats of priority levels do not help there,
 * since most requests end in the turn they began.
 */
const REQUESTS_PER_TURN = 8

/** Clients may be silent for hours; one that vanished shall not stay for ever. */
const KEEP_ALIVE_MS = 15_000

/** Listens for HTTP/2 and HTTP/1.1 on one TLS port and hands every request to `onRequest`. */
export async function listen(
  address: { host: string; port: number },
  tls: TlsOptions,
  clock: Clock,
  onRequest: (exchange: Exchange) => void,
): Promise<Listener> {
  const trust = { ca: tls.proxyCa ? [tls.clientCa, tls.proxyCa] : tls.clientCa, minVersion: 'TLSv1.2' } as const
  const server = createServer({
    ...trust,
    key: tls.key,
    cert: tls.cert,
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2', 'http/1.1'],
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
  })
  const turns = new Turns(REQUESTS_PER_TURN)
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const exchange = new Http1Exchange(request, response, clock)
    turns.take(request.socket, () => onRequest(exchange))
  })
  server.on('upgrade', (request: IncomingMessage, socket: TLSSocket, head: Buffer) => {
    onRequest(upgradeExchange(request, socket, head, clock))
  })
  const connections = serveConnections(server, (socket) => {
    const connection = new Http2Connection(socket, clock, (stream) => {
      const exchange = new Http2Exchange(stream, clock)
      turns.take(connection, () => onRequest(exchange))
    })
  })
  await bind(server, address)
  const bound = server.address() as AddressInfo
  return {
    host: bound.address,
    port: bound.port,
    useCertificate: ({ key, cert }) => server.setSecureContext({ ...trust, key, cert }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const connection of connections) connection.destroy()
      await closed
    },
  }
}

/**
 * Node's own server takes the connections that speak HTTP/1.1. Those that are open are returned: watches keep them busy
 * for ever, so closing the server means closing them.
 */
function serveConnections(server: Server, serveHttp2: (socket: TLSSocket) => void): Set<TLSSocket> {
  const connections = new Set<TLSSocket>()
  const serveHttp1 = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[]
  server.removeAllListeners('secureConnection')
  server.on('secureConnection', (socket: TLSSocket) => {
    connections.add(socket)
    socket.on('close', () => connections.delete(socket))
    socket.on('error', () => socket.destroy())
    if (socket.alpnProtocol === 'h2') serveHttp2(socket)
    else for (const serve of serveHttp1) serve.call(server, socket)
  })
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return connections
}

function bind(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 2048 }, () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve()
    })
  })
}
