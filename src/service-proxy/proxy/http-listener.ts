import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HttpListener extends AsyncDisposable {
  readonly port: number
}

/** Rejects if the port is taken. */
export function listenHttp(port: number, host: string | undefined, answer: RequestListener): Promise<HttpListener> {
  const server = createServer(answer)
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off('error', reject)
      resolve({ port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: () => close(server) })
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
