import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'

export const GROUP = 'wardle.example.com'
export const VERSION = 'v1alpha1'
const PREFIX = `/apis/${GROUP}/${VERSION}`

export interface ExtensionServerOptions {
  readonly key: string
  readonly cert: string
  /** Whom to believe when users are named. */
  readonly proxyCa: string
}

/** An extension API server that serves flunders, and remembers who asked. */
export class ExtensionServer implements AsyncDisposable {
  readonly seen: {
    readonly path: string
    readonly user: string
    readonly groups: string
    readonly isProxy: boolean
  }[] = []
  /** What to do with requests: answer, hang, or fail. */
  mode: 'answer' | 'hang' | 'fail' = 'answer'
  readonly #server: Server
  readonly #flunders: object[] = []
  readonly #watchers = new Set<ServerResponse>()

  constructor({ key, cert, proxyCa }: ExtensionServerOptions) {
    this.#server = createServer({ key, cert, ca: proxyCa, requestCert: true, rejectUnauthorized: false })
    this.#server.on('request', (request, response) => this.#answer(request, response))
    this.#server.on('upgrade', (request, socket) => {
      this.#note(request)
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
      socket.pipe(socket)
    })
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  #note(request: IncomingMessage): void {
    const { headers, url = '' } = request
    this.seen.push({
      path: url,
      user: String(headers['x-remote-user']),
      groups: String(headers['x-remote-group']),
      isProxy: (request.socket as TLSSocket).authorized,
    })
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.#note(request)
    if (this.mode === 'hang') return
    if (this.mode === 'fail') return void response.writeHead(500).end('broken')
    const url = new URL(request.url!, 'https://x')
    const send = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (url.pathname === PREFIX) send(RESOURCES)
    else if (url.pathname === '/openapi/v3')
      send({ paths: { [PREFIX.slice(1)]: { serverRelativeURL: `/openapi/v3${PREFIX}?hash=ABC` } } })
    else if (url.pathname === `/openapi/v3${PREFIX}`) send({ openapi: '3.0.0', info: { title: 'wardle' }, paths: {} })
    else if (url.pathname === '/openapi/v2') send(OPENAPI_V2)
    else if (!url.pathname.endsWith('/flunders')) send({ kind: 'Status', code: 404 }, 404)
    else if (request.method === 'POST') this.#create(request, send)
    else if (url.searchParams.has('watch')) this.#watch(response)
    else send({ kind: 'FlunderList', apiVersion: `${GROUP}/${VERSION}`, metadata: {}, items: this.#flunders })
  }

  #create(request: IncomingMessage, send: (body: object, status: number) => void): void {
    let text = ''
    request.on('data', (part) => {
      text += part
    })
    request.on('end', () => {
      const object = JSON.parse(text) as object
      this.#flunders.push(object)
      for (const watcher of this.#watchers) watcher.write(`${JSON.stringify({ type: 'ADDED', object })}\n`)
      send(object, 201)
    })
  }

  #watch(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    this.#watchers.add(response)
    response.on('close', () => this.#watchers.delete(response))
  }

  get watcherCount(): number {
    return this.#watchers.size
  }
}

const RESOURCES = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${GROUP}/${VERSION}`,
  resources: [
    {
      name: 'flunders',
      singularName: 'flunder',
      namespaced: true,
      kind: 'Flunder',
      verbs: ['create', 'list', 'watch'],
    },
    { name: 'flunders/status', singularName: '', namespaced: true, kind: 'Flunder', verbs: ['get'] },
  ],
}

const OPENAPI_V2 = {
  swagger: '2.0',
  paths: { [`${PREFIX}/flunders`]: { get: {} }, '/apis/apps/v1/deployments': { get: { stolen: true } } },
  definitions: { 'com.example.wardle.Flunder': { type: 'object' } },
}
