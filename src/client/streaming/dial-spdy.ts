import { type ClientRequest, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { type SpdyConnection, spdyConnection } from '../../base/spdy.ts'

export interface DialOptions {
  /** For https: the authority to trust and the client's certificate. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly insecure?: boolean }
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Asks a server for SPDY and for one of these protocols on it. */
export function dialSpdy(
  url: string,
  protocols: readonly string[],
  options: DialOptions = {},
): Promise<{ connection: SpdyConnection; protocol: string }> {
  return new Promise((resolve, reject) => {
    const { tls, headers, signal } = options
    const common = {
      method: 'POST',
      agent: false as const,
      headers: {
        ...headers,
        Connection: 'Upgrade',
        Upgrade: 'SPDY/3.1',
        'X-Stream-Protocol-Version': [...protocols],
        'Content-Length': '0',
      },
      ...(signal && { signal }),
    }
    const request: ClientRequest = url.startsWith('https:')
      ? requestHttps(url, { ...common, ...(tls && { ...tls, rejectUnauthorized: !tls.insecure }) })
      : requestHttp(url, common)
    request.on('upgrade', (response, socket, head) => {
      if (head.length > 0) socket.unshift(head)
      const protocol = response.headers['x-stream-protocol-version']
      resolve({
        connection: spdyConnection(socket, { role: 'client' }),
        protocol: Array.isArray(protocol) ? (protocol[0] ?? '') : (protocol ?? ''),
      })
    })
    request.on('response', (response) => {
      text(response).then(
        (message) => reject(new Error(`unable to upgrade connection: ${response.statusCode} ${message.trim()}`)),
        reject,
      )
    })
    request.on('error', reject)
    request.end()
  })
}
