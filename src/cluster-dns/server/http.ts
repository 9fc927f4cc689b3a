import { createServer } from 'node:http'
import type { Logger } from '../../base/log.ts'

export interface HttpAnswer {
  readonly status: number
  readonly body: string
}

/** One page at one path. A port that is taken is told in the log, and names are served all the same. */
export class HttpPage implements AsyncDisposable {
  readonly #server
  readonly #address: { readonly host: string; readonly port: number }
  readonly #log: Logger

  constructor(
    address: { readonly host: string; readonly port: number },
    path: string,
    log: Logger,
    page: () => HttpAnswer,
  ) {
    this.#address = address
    this.#log = log
    this.#server = createServer((request, response) => {
      const { status, body } = request.url === path ? page() : { status: 404, body: '404 page not found\n' }
      response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body)
    })
  }

  async start(): Promise<void> {
    const { host, port } = this.#address
    await new Promise<void>((resolve) => {
      this.#server.once('error', (error) => {
        this.#log.error('a port of the DNS server cannot be opened', { host, port, error })
        resolve()
      })
      this.#server.listen(port, host, resolve)
    })
  }

  /** The port, once started. */
  get port(): number | undefined {
    const address = this.#server.address()
    return typeof address === 'object' ? address?.port : undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return
    await new Promise((resolve) => {
      this.#server.close(resolve)
      this.#server.closeAllConnections()
    })
  }
}
