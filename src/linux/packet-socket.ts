/** The frames of a link: what arrives at it can be read, what is written leaves by it. */
import { linuxCalls } from './ffi.ts'
import { type MessageSocket, messageSocket } from './message-socket.ts'
import { inNamespace } from './namespaces/kernel-namespaces.ts'
import type { NetworkNamespace } from './network-namespace.ts'
import { checked } from './system-error.ts'

const AF_PACKET = 17
const SOCK_RAW = 3
const SOCK_CLOEXEC = 0o2000000
const SOCKADDR_LL_LENGTH = 20
const LONGEST_FRAME = 65_536 + 14
export const ETH_P_IP = 0x0800

/** The listener has each IPv4 frame that arrives at the link. */
export function openPacketSocket(
  namespace: NetworkNamespace,
  link: number,
  listener: (frame: Buffer) => void,
): MessageSocket {
  const calls = linuxCalls()
  // The protocol is in network byte order, here and in the address.
  const protocol = Buffer.alloc(2)
  protocol.writeUInt16BE(ETH_P_IP)
  const make = () => calls.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, protocol.readUInt16LE())
  const fd = checked(inNamespace(namespace.fd, make), 'packet socket')
  const address = Buffer.alloc(SOCKADDR_LL_LENGTH)
  address.writeUInt16LE(AF_PACKET, 0)
  protocol.copy(address, 2)
  address.writeInt32LE(link, 4)
  checked(calls.bind(fd, address), 'packet bind')
  return messageSocket(fd, LONGEST_FRAME, listener)
}
