import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import type { Duplex, Readable } from 'node:stream'

/** Whom a request is handed on to. */
export interface Backend {
  /** As it stands in error messages: `https://10.0.0.1:10250`. */
  readonly origin: string
  dial(signal: AbortSignal): Promise<Duplex>
}

export interface BackendRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body?: Readable
}

export type BackendAnswer =
  | { readonly type: 'response'; readonly response: IncomingMessage }
  | { readonly type: 'upgrade'; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer }

/** Asks a backend on a connection of its own; the connection ends with the signal. */
export async function askBackend(backend: Backend, asked: BackendRequest, signal: AbortSignal): Promise<BackendAnswer> {
  const connection = await backend.dial(signal)
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = asked
    const request: ClientRequest = requestHttp({
      createConnection: () => connection,
      method,
      path,
      headers,
      setHost: false,
      signal,
    })
    request.on('response', (response) => resolve({ type: 'response', response }))
    request.on('upgrade', (response, socket, head) => resolve({ type: 'upgrade', response, socket, head }))
    request.on('error', reject)
    if (body) body.pipe(request)
    else request.end()
  })
}
