import type { IncomingHttpHeaders } from 'node:http'
import type { ConnectionOptions } from 'node:tls'

export interface HttpRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

export interface HttpResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Must be read to its end or left by `break`; either frees the stream. Throws if the connection breaks. */
  readonly body: AsyncIterable<Buffer>
}

/** One way to carry requests to a server. */
export interface HttpConnection extends AsyncDisposable {
  request(request: HttpRequest): Promise<HttpResponse>
}

export interface ServerAddress {
  readonly url: URL
  readonly tls: ConnectionOptions
}

/** The connection was gone before the server can have seen the request, so sending it again is safe. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError'
}

export async function readAll(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}
