/** A registry in this process that can misbehave: asks for credentials, breaks, stalls, lies. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { digestOf } from './build-image.ts'

export type Misbehaviour = (request: IncomingMessage, response: ServerResponse, body: Buffer) => boolean

export class FakeRegistry {
  readonly #server: Server
  readonly #blobs = new Map<string, Buffer>()
  readonly #types = new Map<string, string>()
  /** `GET /v2/app/blobs/sha256:…` with the header that matters. */
  readonly requests: {
    readonly url: string
    readonly authorization?: string
    readonly range?: string
    body: string
  }[] = []
  /** Returns true if it has answered. */
  misbehave: Misbehaviour = () => false

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<FakeRegistry> {
    const registry = new FakeRegistry()
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve))
    return registry
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Serves the image of an OCI layout by this tag, and every blob of it. */
  serve(layout: string, tag: string): void {
    const index = JSON.parse(readFileSync(path.join(layout, 'index.json'), 'utf8')) as {
      manifests: { digest: string; mediaType: string }[]
    }
    const add = (digest: string, type: string) => {
      const bytes = readFileSync(path.join(layout, 'blobs', 'sha256', digest.slice('sha256:'.length)))
      this.put(bytes, type)
      return bytes
    }
    const [first] = index.manifests
    const manifest = JSON.parse(add(first!.digest, first!.mediaType).toString()) as {
      config: { digest: string }
      layers: { digest: string }[]
    }
    this.tag(tag, first!.digest)
    for (const { digest } of [manifest.config, ...manifest.layers]) add(digest, 'application/octet-stream')
  }

  put(bytes: Buffer, type: string): string {
    const digest = digestOf(bytes)
    this.#blobs.set(digest, bytes)
    this.#types.set(digest, type)
    return digest
  }

  tag(tag: string, digest: string): void {
    this.#blobs.set(tag, this.#blobs.get(digest)!)
    this.#types.set(tag, this.#types.get(digest)!)
  }

  /** Another content by the same name. */
  replace(name: string, bytes: Buffer): void {
    this.#blobs.set(name, bytes)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { authorization, range } = request.headers
    const url = request.url ?? ''
    this.requests.push({
      url,
      body: Buffer.concat(parts).toString(),
      ...(authorization && { authorization }),
      ...(range && { range }),
    })
    const name = decodeURIComponent(url.split('/').at(-1) ?? '')
    const bytes = this.#blobs.get(name)
    if (this.misbehave(request, response, bytes ?? Buffer.alloc(0))) return
    if (!bytes) return void response.writeHead(404).end()
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
    const headers = { 'content-type': this.#types.get(name), 'content-length': bytes.length - from }
    if (from > 0)
      response.writeHead(206, { ...headers, 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` })
    else response.writeHead(200, headers)
    response.end(bytes.subarray(from))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
