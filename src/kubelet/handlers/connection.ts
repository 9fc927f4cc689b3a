import { connect, type Socket } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

/** Opens a connection from the node to a pod; where pods live in a network of their own, the way in is passed in. */
export type Dial = (address: Address, signal: AbortSignal) => Promise<Socket>

export const dialDirectly: Dial = (address, signal) =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: address.host, port: address.port, noDelay: true })
    const onAbort = () => socket.destroy(new ConnectionError(address, 'i/o timeout'))
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    socket.once('error', (error: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', onAbort)
      reject(error instanceof ConnectionError ? error : new ConnectionError(address, reasonOf(error)))
    })
    socket.once('connect', () => {
      signal.removeEventListener('abort', onAbort)
      resolve(socket)
    })
  })

export const hostPort = ({ host, port }: Address) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)

/** In the words that users of Kubernetes know. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'

  constructor(address: Address, reason: string) {
    super(`dial tcp ${hostPort(address)}: ${reason}`)
  }
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'i/o timeout',
  ECONNRESET: 'read: connection reset by peer',
}

const reasonOf = (error: NodeJS.ErrnoException) => REASONS[error.code ?? ''] ?? error.message
