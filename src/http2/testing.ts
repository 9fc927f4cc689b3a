/** A server of nothing but HTTP/2 connections, without TLS, for the tests of this folder. */
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientSessionOptions, connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { systemClock } from '../base/clock.ts'
import { Http2Connection } from './connection.ts'
import type { Http2Stream } from './stream.ts'

export interface TestServer extends AsyncDisposable {
  readonly port: number
  readonly connections: Socket[]
  /** The server's side of each of them. */
  readonly served: Http2Connection[]
  /** Somebody else's client. */
  client(options?: ClientSessionOptions): ClientHttp2Session
  /** For whoever writes frames by hand. */
  raw(): Promise<Socket>
}

export async function serve(onRequest: (stream: Http2Stream) => void): Promise<TestServer> {
  const connections: Socket[] = []
  const served: Http2Connection[] = []
  const server = createServer((socket) => {
    connections.push(socket)
    socket.on('error', () => {})
    served.push(new Http2Connection(socket as TLSSocket, systemClock, onRequest))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sessions: ClientHttp2Session[] = []
  const sockets: Socket[] = []
  return {
    port,
    connections,
    served,
    client(options) {
      const session = connectHttp2(`http://127.0.0.1:${port}`, options)
      session.on('error', () => {})
      sessions.push(session)
      return session
    },
    async raw() {
      const socket = connectTcp(port, '127.0.0.1')
      socket.on('error', () => {})
      sockets.push(socket)
      await once(socket, 'connect')
      return socket
    },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy()
      for (const socket of [...sockets, ...connections]) socket.destroy()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}

/** All of a body, with the window opened as it comes. */
export function bodyOf(stream: Http2Stream): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    stream.read({
      data(chunk) {
        stream.consumed(chunk.length)
        chunks.push(chunk)
      },
      end: () => resolve(Buffer.concat(chunks)),
      broken: () => reject(new Error('broken')),
    })
  })
}
