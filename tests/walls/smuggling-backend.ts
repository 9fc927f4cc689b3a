/** A backend that writes down each request exactly as it understood it, and can answer with any bytes. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'

export interface SeenRequest {
  readonly line: string
  /** From `X-Remote-User`, if the connection shows the certificate of the front proxy. */
  readonly user: string | undefined
  readonly groups: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface RawBytes {
  readonly bytes: string | Buffer
  /** Closes the connection behind them. */
  readonly close?: boolean
  /** Sends them before the body of the request was read. */
  readonly early?: boolean
}

export interface BackendTls {
  readonly key: string
  readonly cert: string
  /** The authority of client certificates. */
  readonly ca: string
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

export class RecordingBackend implements AsyncDisposable {
  readonly seen: SeenRequest[] = []
  /** Bytes that are no HTTP request: each is a request that did not end where it should. */
  malformed = 0
  /** Connections that were accepted. */
  connections = 0
  /** Bytes to send instead of a proper answer, by path. */
  readonly raw = new Map<string, RawBytes>()
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(answer: Answer, tls?: BackendTls) {
    const listener = (request: IncomingMessage, response: ServerResponse) => void this.#take(request, response, answer)
    this.#server = tls
      ? createSecureServer({ ...tls, requestCert: true, rejectUnauthorized: false }, listener)
      : createServer(listener)
    this.#server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.connections++
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    })
    this.#server.on('upgrade', (request, socket) => {
      this.#note(request, '')
      socket.on('error', () => {})
      sendRaw(socket, this.raw.get(pathOf(request)) ?? REFUSED)
    })
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (!BROKEN_OFF.has(error.code ?? '')) this.malformed++
      socket.destroy()
    })
  }

  async listen(host: string): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, host, resolve))
    return (this.#server.address() as AddressInfo).port
  }

  /** Forgets what came before. */
  reset(): void {
    this.seen.length = 0
    this.malformed = 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #take(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
    const raw = this.raw.get(pathOf(request))
    if (raw?.early) {
      this.#note(request, '')
      return sendRaw(request.socket, raw)
    }
    let body: string
    try {
      body = await text(request)
    } catch {
      return
    }
    this.#note(request, body)
    if (raw === undefined) return answer(request, response)
    sendRaw(request.socket, raw)
    // Node's server takes the answer for sent, and goes on with the next request of the connection.
    response.emit('finish')
  }

  #note(request: IncomingMessage, body: string): void {
    const { headers, method, url, socket } = request
    const isProxy = (socket as TLSSocket).authorized === true
    this.seen.push({
      line: `${method} ${url}`,
      user: isProxy ? String(headers['x-remote-user']) : undefined,
      groups: isProxy ? String(headers['x-remote-group']) : undefined,
      headers,
      body,
    })
  }
}

const REFUSED: RawBytes = { bytes: 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n' }

function sendRaw(socket: Duplex, { bytes, close }: RawBytes): void {
  socket.write(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, 'latin1'))
  if (close) socket.end()
}

/** The connection ended in the middle of a request: what came could not be taken for a whole one. */
const BROKEN_OFF = new Set(['ECONNRESET', 'EPIPE', 'HPE_INVALID_EOF_STATE'])

const pathOf = ({ url = '' }: IncomingMessage) => url.split('?')[0]!
