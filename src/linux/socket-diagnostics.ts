/** The sockets of a network namespace, as `ss` shows them. */
export interface SocketDiagnostics extends Disposable {
  list(protocol: 'tcp' | 'udp', family: 'ip' | 'ip6'): SocketInfo[]
  /** Ends a connection for its process, as if the other side had reset it. ENOENT if it is gone. */
  destroy(socket: SocketInfo): void
}

export type SocketState = keyof typeof SOCKET_STATES

export const SOCKET_STATES = {
  established: 1,
  'syn-sent': 2,
  'syn-received': 3,
  'fin-wait-1': 4,
  'fin-wait-2': 5,
  'time-wait': 6,
  closed: 7,
  'close-wait': 8,
  'last-ack': 9,
  listening: 10,
  closing: 11,
} as const

export interface SocketInfo {
  readonly protocol: 'tcp' | 'udp'
  readonly family: 'ip' | 'ip6'
  readonly state: SocketState
  readonly localAddress: string
  readonly localPort: number
  readonly remoteAddress: string
  readonly remotePort: number
  readonly userId: number
  readonly inode: number
  /** The kernel's own name for it. */
  readonly cookie: bigint
}
