import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { ApiError, internalError } from '../../api/meta/api-error.ts'
import type { ApiCall, CallVerb, Transport } from '../transport.ts'

/** Puts a transport behind HTTPS, so that the HTTP transport can be tested against whatever the transport is. */
export interface FakeHttpServer extends AsyncDisposable {
  readonly url: string
  readonly http: Http2SecureServer
  /** Cuts every connection. */
  cut(): void
  /** Answers the next requests with these instead, raw. */
  readonly scripted: { status: number; headers?: Record<string, string>; body: string }[]
}

export async function startFakeHttpServer(
  api: Transport,
  options: { cert: string; key: string; http1?: boolean; maxConcurrentStreams?: number },
): Promise<FakeHttpServer> {
  const scripted: FakeHttpServer['scripted'] = []
  const { cert, key, http1, maxConcurrentStreams } = options
  const http = createSecureServer({
    cert,
    key,
    allowHTTP1: true,
    ...(http1 && { ALPNProtocols: ['http/1.1'] }),
    ...(maxConcurrentStreams !== undefined && { settings: { maxConcurrentStreams } }),
  })
  const sockets = new Set<Socket>()
  http.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  http.on('request', (request, response) => {
    const answer = scripted.shift()
    if (answer) {
      response.writeHead(answer.status, answer.headers)
      response.end(answer.body)
      return
    }
    void serve(api, request, response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `https://127.0.0.1:${(http.address() as AddressInfo).port}`,
    http,
    scripted,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()))
      cut()
      await closed
    },
  }
}

async function serve(api: Transport, request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const call = parse(request, Buffer.concat(chunks).toString())
    if (call.query?.watch === 'true') return await serveWatch(api, call, response)
    const answer = await api.call(call)
    response.writeHead(call.verb === 'create' ? 201 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  } catch (error) {
    const status = (error instanceof ApiError ? error : internalError(String(error))).toStatus()
    response.writeHead(status.code ?? 500, { 'content-type': 'application/json' })
    response.end(JSON.stringify(status))
  }
}

/** Frames are cut into odd pieces on purpose. */
async function serveWatch(api: Transport, call: ApiCall, response: Http2ServerResponse): Promise<void> {
  const controller = new AbortController()
  response.on('close', () => controller.abort())
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('\n')
  try {
    const { verb: _, ...rest } = call
    for await (const batch of api.watch({ ...rest, signal: controller.signal })) {
      const bytes = Buffer.from(batch.map((event) => `${JSON.stringify(event)}\n`).join(''))
      for (let i = 0; i < bytes.length; i += 37) response.write(bytes.subarray(i, i + 37))
    }
    response.end()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    response.end(`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`)
  }
}

const VERBS: Readonly<Record<string, CallVerb>> = { POST: 'create', PUT: 'update', PATCH: 'patch' }
const PATH = /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/

function parse(request: Http2ServerRequest, body: string): ApiCall {
  const url = new URL(request.url, 'https://fake')
  const match = PATH.exec(url.pathname)
  if (!match) throw new ApiError(404, 'NotFound', 'the server could not find the requested resource')
  const [group, version, namespace, plural, name, subresource] = match
    .slice(1)
    .map((part) => part && decodeURIComponent(part))
  const single = name !== undefined
  const verb =
    VERBS[request.method] ??
    (request.method === 'DELETE' ? (single ? 'delete' : 'deletecollection') : single ? 'get' : 'list')
  return {
    verb,
    resource: {
      group: group ?? '',
      version: version!,
      plural: plural!,
      namespaced: namespace !== undefined || plural !== 'namespaces',
    },
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
    query: Object.fromEntries(url.searchParams),
    ...(body !== '' && { body: JSON.parse(body) }),
  }
}
