import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { socketPath } from '../base/socket-path.ts'
import { joinSockets } from './egress/join-sockets.ts'

/** Connections to the API server enter here. */
export const apiSocketPath = (dataDir: string) => socketPath(join(dataDir, 'api.sock'))
/** Traffic to the machine's network leaves here. */
export const egressSocketPath = (dataDir: string) => socketPath(join(dataDir, 'egress.sock'))

export type SocketAddress = { readonly path: string } | { readonly host: string; readonly port: number }

export interface Forwarder extends Disposable {
  /** The port it listens on; 0 if it listens on a path. */
  readonly port: number
}

/** Forwards connections. Disposing it accepts no more; open ones (watches) end with the process. */
export function forward(from: SocketAddress, to: SocketAddress): Promise<Forwarder> {
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    joinSockets(socket, connect({ ...to, allowHalfOpen: true })),
  )
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(from, () => resolve(forwarder(server)))
  })
}

const forwarder = (server: Server): Forwarder => ({
  port: (server.address() as AddressInfo | null)?.port ?? 0,
  [Symbol.dispose]() {
    server.close()
    server.unref()
  },
})

/** Whether a process accepts connections at this path. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
