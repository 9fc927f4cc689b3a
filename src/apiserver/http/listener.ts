import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest, type Http2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { type Exchange, Http1Exchange, Http2Exchange, upgradeExchange } from './exchange.ts'
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

/** Upstream's: more streams than this on one connection wait, or clients open another one. */
const MAX_CONCURRENT_STREAMS = 100
const INITIAL_WINDOW_BYTES = 1024 * 1024

/**
 * How many requests are begun before other connections are looked at again. One that sends hundreds of requests at once
 * would have all of them served before the next connection is even read: seats of priority levels do not help there,
 * since most requests end in the turn they began.
 */
const REQUESTS_PER_TURN = 8

/** Listens for HTTP/2 and HTTP/1.1 on one TLS port and hands every request to `onRequest`. */
export async function listen(
  address: { host: string; port: number },
  tls: TlsOptions,
  clock: Clock,
  onRequest: (exchange: Exchange) => void,
): Promise<Listener> {
  const trust = { ca: tls.proxyCa ? [tls.clientCa, tls.proxyCa] : tls.clientCa, minVersion: 'TLSv1.2' } as const
  const server = createSecureServer({
    ...trust,
    key: tls.key,
    cert: tls.cert,
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
    noDelay: true,
    settings: { maxConcurrentStreams: MAX_CONCURRENT_STREAMS, initialWindowSize: INITIAL_WINDOW_BYTES },
    maxSessionMemory: 512,
  })
  const connections = trackConnections(server)
  const turns = new Turns(REQUESTS_PER_TURN)
  server.on('request', (request: Http2ServerRequest | IncomingMessage, response: unknown) => {
    const exchange = new Http1Exchange(request as IncomingMessage, response as ServerResponse, clock)
    turns.take(request.socket, () => onRequest(exchange))
  })
  server.on('upgrade', (request: IncomingMessage, socket: TLSSocket, head: Buffer) => {
    onRequest(upgradeExchange(request, socket, head, clock))
  })
  // Listening for HTTP/1.1 requests made Node wrap every HTTP/2 stream too, which costs as much as serving it.
  server.removeAllListeners('stream')
  server.on('stream', (stream, headers) => {
    const exchange = new Http2Exchange(stream, headers, clock)
    turns.take(stream.session ?? stream, () => onRequest(exchange))
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

/** Watches keep connections busy for ever, so closing the server means closing them. */
function trackConnections(server: Http2SecureServer): Set<Http2Session | Socket> {
  const connections = new Set<Http2Session | Socket>()
  const track = (connection: Http2Session | Socket) => {
    connections.add(connection)
    connection.on('close', () => connections.delete(connection))
    connection.on('error', () => connection.destroy())
  }
  server.on('session', track)
  server.on('secureConnection', track)
  server.on('sessionError', () => {})
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return connections
}

function bind(server: Http2SecureServer, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 2048 }, () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve()
    })
  })
}
