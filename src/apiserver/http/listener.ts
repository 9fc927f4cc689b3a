import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import { type AddressInfo, createServer as createDoor, type Server as Door, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { bodyLengthOf, refusalOf } from '../../base/http-request.ts'
import { HTTP1_TIMEOUTS, SERVER_TLS } from '../../base/server-tls.ts'
import { Http2Connection } from '../../http2/connection.ts'
import type { Exchange } from './exchange.ts'
import { Http1Exchange, refuse, upgradeExchange, upgradeResponse } from './http1-exchange.ts'
import { Http2Exchange } from './http2-exchange.ts'
import { OpenConnections } from './open-connections.ts'
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
const SOCKET_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 }

/** As much as Go's server takes. The arguments of `kubectl exec` come in the URL. */
const MAX_HEADER_BYTES = 1024 * 1024

/** Connections that wait for their first byte to be read. */
const BACKLOG = 2048

type OnRequest = (exchange: Exchange) => void

/**
 * Listens for HTTP/2 and HTTP/1.1 on one TLS port and hands every request to `onRequest`. What TLS needs is made when
 * somebody knocks: Node 20 reads all certificates of the world for it (30 ms), and a cluster inside of a test may never be
 * asked from outside.
 */
export async function listen(
  address: { host: string; port: number },
  tls: TlsOptions,
  clock: Clock,
  onRequest: OnRequest,
): Promise<Listener> {
  const turns = new Turns(REQUESTS_PER_TURN)
  const sockets = new Set<Socket>()
  const connections = new OpenConnections(clock)
  let certificate: Pick<TlsOptions, 'key' | 'cert'> = tls
  let secure: Server | undefined
  const door = createDoor(SOCKET_OPTIONS)
  door.on('connection', (socket) => {
    secure = secureServer({ ...tls, ...certificate }, sockets)
    serveHttp1(secure, turns, clock, onRequest)
    serveHttp2(secure, connections, turns, clock, onRequest)
    secure.listen(door, BACKLOG)
    secure.emit('connection', socket)
  })
  await bind(door, address)
  const bound = door.address() as AddressInfo
  return {
    host: bound.address,
    port: bound.port,
    useCertificate(next) {
      certificate = next
      secure?.setSecureContext({ ...trustOf(tls), ...next })
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => (secure ?? door).close(() => resolve()))
      connections.close()
      // Next, what was just said is on its way.
      setImmediate(() => {
        for (const socket of sockets) socket.destroy()
      })
      await closed
    },
  }
}

const trustOf = ({ clientCa, proxyCa }: TlsOptions) =>
  ({ ca: proxyCa ? [clientCa, proxyCa] : clientCa, ...SERVER_TLS }) as const

/**
 * Watches keep connections busy for ever, and somebody may never end the TLS handshake, so closing the server means
 * closing every socket: `sockets` are those that are open.
 */
function secureServer(tls: TlsOptions, sockets: Set<Socket>): Server {
  const server = createServer({
    ...trustOf(tls),
    key: tls.key,
    cert: tls.cert,
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2', 'http/1.1'],
    maxHeaderSize: MAX_HEADER_BYTES,
    ...HTTP1_TIMEOUTS,
    ...SOCKET_OPTIONS,
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  server.on('error', () => {})
  return server
}

function serveHttp1(server: Server, turns: Turns<object>, clock: Clock, onRequest: OnRequest): void {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const refusal = refusalOf(request)
    if (refusal) return refuse(response, refusal)
    const exchange = new Http1Exchange(request, response, clock)
    turns.take(request.socket, () => onRequest(exchange))
  })
  server.on('upgrade', (request: IncomingMessage, socket: TLSSocket, head: Buffer) => {
    // Node takes what follows the head for the other protocol, so a body would be handed on as that.
    const refusal = refusalOf(request) ?? (bodyLengthOf(request) === 0 ? undefined : BODY_BEFORE_UPGRADE)
    if (refusal) return refuse(upgradeResponse(request, socket), refusal)
    onRequest(upgradeExchange(request, socket, head, clock))
  })
}

const BODY_BEFORE_UPGRADE = { status: 400, message: 'a request with a body cannot switch protocols' }

/** Takes the connections that speak HTTP/2 from Node's server, which knows HTTP/1.1 only. */
function serveHttp2(
  server: Server,
  connections: OpenConnections,
  turns: Turns<object>,
  clock: Clock,
  onRequest: OnRequest,
): void {
  const others = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[]
  server.removeAllListeners('secureConnection')
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => socket.destroy())
    if (socket.alpnProtocol !== 'h2') {
      connections.add(socket, undefined)
      for (const serve of others) serve.call(server, socket)
      return
    }
    const connection = new Http2Connection(socket, clock, (stream) => {
      const exchange = new Http2Exchange(stream, clock)
      turns.take(connection, () => onRequest(exchange))
    })
    connections.add(socket, connection)
  })
}

function bind(server: Door, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve()
    })
  })
}
