/** ICMP echo without root, where the system lets the user (net.ipv4.ping_group_range). */
import { linuxCalls } from './ffi.ts'
import { type MessageSocket, messageSocket } from './message-socket.ts'
import { checked } from './system-error.ts'

const AF_INET = 2
const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2000000
const IPPROTO_ICMP = 1
const SOCKADDR_IN_LENGTH = 16
const LONGEST_MESSAGE = 65_536

/** Replies of the host come to the listener. What is sent are whole ICMP messages; the kernel puts in its identifier and checksum. */
export function openEchoSocket(host: string, listener: (message: Buffer) => void): MessageSocket {
  const calls = linuxCalls()
  const fd = checked(calls.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP), 'echo socket')
  const address = Buffer.alloc(SOCKADDR_IN_LENGTH)
  address.writeUInt16LE(AF_INET, 0)
  address.set(host.split('.').map(Number), 4)
  const connected = calls.connect(fd, address)
  if (connected < 0) calls.close(fd)
  checked(connected, `echo ${host}`)
  return messageSocket(fd, LONGEST_MESSAGE, listener)
}
