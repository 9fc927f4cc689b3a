import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Duplex, Readable } from 'node:stream'

/** A body on its way. `length` is what its sender announced; undefined if only the end tells. */
export interface OutgoingBody {
  readonly stream: Readable
  readonly length: number | undefined
}

/** A request to another server. Its headers say nothing about the length of the body. */
export interface OutgoingRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body?: OutgoingBody
}

export type BackendAnswer =
  | { readonly type: 'response'; readonly response: IncomingMessage }
  | { readonly type: 'upgrade'; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer }

/** As many as Go's client takes. A backend could send them without end. */
const MAX_INTERIM_ANSWERS = 5

/**
 * Sends a request by HTTP/1.1 and resolves with the beginning of the answer. The framing of the body is made here: the
 * announced length if there is one, else chunks. A body of another length destroys the connection, because the backend
 * would take what is too much for the next request, or the next request for what is missing.
 */
export function sendRequest(
  open: (options: RequestOptions) => ClientRequest,
  { method, path, headers, body }: OutgoingRequest,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  return new Promise((resolve, reject) => {
    const isUpgrade = headers.upgrade !== undefined
    const request = open({ method, path, headers: { ...headers, ...framingOf(body) }, setHost: false, signal })
    let interim = 0
    request.on('information', () => {
      if (++interim > MAX_INTERIM_ANSWERS) request.destroy(new Error('too many 1xx informational responses'))
    })
    request.on('response', (response) => {
      const encoding = response.headers['transfer-encoding']
      if (encoding === undefined || encoding === 'chunked') resolve({ type: 'response', response })
      else request.destroy(new Error(`unsupported transfer encoding ${JSON.stringify(encoding)}`))
    })
    request.on('upgrade', (response, socket, head) => {
      if (isUpgrade) return resolve({ type: 'upgrade', response, socket, head })
      socket.destroy()
      reject(new Error('the backend switched protocols without being asked to'))
    })
    request.on('error', (error) => reject(Object.assign(error, { reused: request.reusedSocket })))
    request.on('close', () => reject(new Error('the backend closed the connection without an answer')))
    if (body) sendBody(body, request)
    else request.end()
  })
}

function framingOf(body: OutgoingBody | undefined): Record<string, string> {
  if (!body) return {}
  return body.length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) }
}

function sendBody({ stream, length }: OutgoingBody, request: ClientRequest): void {
  let left = length ?? Number.POSITIVE_INFINITY
  let hasEnded = false
  stream.on('data', (chunk: Buffer) => {
    if (request.destroyed) return
    left -= chunk.length
    if (left < 0) request.destroy(new Error('the body is longer than announced'))
    else if (!request.write(chunk)) {
      stream.pause()
      request.once('drain', () => stream.resume())
    }
  })
  stream.once('end', () => {
    hasEnded = true
    if (length !== undefined && left > 0) request.destroy(new Error('the body is shorter than announced'))
    else request.end()
  })
  stream.once('close', () => {
    if (!hasEnded) request.destroy(new Error('the client broke off its request'))
  })
  stream.on('error', () => {})
}
