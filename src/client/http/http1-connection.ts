import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { HttpConnection, HttpRequest, HttpResponse, ServerAddress } from './connection.ts'

/** HTTP/1.1 with kept-alive sockets: for plain http servers, and for TLS servers that do not speak HTTP/2. */
export function http1Connection(server: ServerAddress): HttpConnection {
  const secure = server.url.protocol === 'https:'
  const agent = secure
    ? new HttpsAgent({ ...server.tls, ALPNProtocols: ['http/1.1'], keepAlive: true })
    : new HttpAgent({ keepAlive: true })
  const open = secure ? httpsRequest : httpRequest
  return {
    request: (request) =>
      new Promise<HttpResponse>((resolve, reject) => {
        const options = { agent, method: request.method, headers: headersOf(request), signal: request.signal }
        // Not relative to the server: a path with two slashes would name another host.
        const outgoing = open(new URL(server.url.origin + request.path), options)
        outgoing.on('response', (message) => resolve(responseOf(message)))
        outgoing.on('error', reject)
        outgoing.end(request.body)
      }),
    async [Symbol.asyncDispose]() {
      agent.destroy()
    },
  }
}

function headersOf(request: HttpRequest): Record<string, string> {
  const length = request.body === undefined ? undefined : String(Buffer.byteLength(request.body))
  return { ...request.headers, ...(length !== undefined && { 'content-length': length }) }
}

function responseOf(message: IncomingMessage): HttpResponse {
  return { status: message.statusCode ?? 0, headers: message.headers, body: bodyOf(message) }
}

async function* bodyOf(message: IncomingMessage): AsyncGenerator<Buffer> {
  for await (const chunk of message) yield chunk as Buffer
  if (!message.complete) throw new Error('the connection was cut')
}
