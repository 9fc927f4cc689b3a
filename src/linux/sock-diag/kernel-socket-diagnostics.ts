import { AF_INET, AF_INET6, ipBytes, ipText } from '../netlink/addresses.ts'
import type { NetlinkMessage } from '../netlink/reader.ts'
import { NETLINK_SOCK_DIAG, NetlinkSocket } from '../netlink/socket.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import { SOCKET_STATES, type SocketDiagnostics, type SocketInfo, type SocketState } from '../socket-diagnostics.ts'

const SOCK_DIAG_BY_FAMILY = 20
const SOCK_DESTROY = 21
const PROTOCOLS = { tcp: 6, udp: 17 } as const
const FAMILIES = { ip: AF_INET, ip6: AF_INET6 } as const
const ALL_STATES = 0xffffffff
const SOCKET_ID_BYTES = 48
const ADDRESS_BYTES = 16
const STATE_NAMES = new Map(Object.entries(SOCKET_STATES).map(([name, id]) => [id as number, name as SocketState]))

export function openKernelSocketDiagnostics(namespace?: NetworkNamespace): SocketDiagnostics {
  const socket = new NetlinkSocket(NETLINK_SOCK_DIAG, { namespace })
  return {
    list: (protocol, family) =>
      socket.dump(
        SOCK_DIAG_BY_FAMILY,
        `${protocol} sockets`,
        (to) => writeRequest(to, protocol, family).zeros(SOCKET_ID_BYTES),
        (message) => readSocket(message, protocol, family),
      ),
    destroy(found) {
      const what = `destroy socket ${found.localPort}`
      socket.request(SOCK_DESTROY, 0, what, (to) => {
        writeRequest(to, found.protocol, found.family)
        writeSocketId(to, found)
      })
    },
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  }
}

/** struct inet_diag_req_v2, up to the socket's id. */
function writeRequest(to: NetlinkWriter, protocol: 'tcp' | 'udp', family: 'ip' | 'ip6'): NetlinkWriter {
  return to.u8(FAMILIES[family]).u8(PROTOCOLS[protocol]).u8(0).u8(0).u32(ALL_STATES)
}

/** struct inet_diag_sockid; the cookie makes it this socket and no other. */
function writeSocketId(
  to: NetlinkWriter,
  { localPort, remotePort, localAddress, remoteAddress, cookie }: SocketInfo,
): void {
  to.be16(localPort).be16(remotePort)
  for (const address of [localAddress, remoteAddress]) {
    const bytes = ipBytes(address)
    to.raw(bytes).zeros(ADDRESS_BYTES - bytes.length)
  }
  to.u32(0)
    .u32(Number(cookie & 0xffffffffn))
    .u32(Number(cookie >> 32n))
}

/** struct inet_diag_msg */
export function readSocket(
  { data }: NetlinkMessage,
  protocol: 'tcp' | 'udp',
  family: 'ip' | 'ip6',
): SocketInfo | undefined {
  const length = family === 'ip' ? 4 : 16
  const state = STATE_NAMES.get(data[1]!)
  if (!state) return undefined
  return {
    protocol,
    family,
    state,
    localPort: data.readUInt16BE(4),
    remotePort: data.readUInt16BE(6),
    localAddress: ipText(data.subarray(8, 8 + length)),
    remoteAddress: ipText(data.subarray(24, 24 + length)),
    cookie: data.readBigUInt64LE(44),
    userId: data.readUInt32LE(64),
    inode: data.readUInt32LE(68),
  }
}
