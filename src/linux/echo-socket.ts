/** ICMP echo without root, where the system lets the user (net.ipv4.ping_group_range). */
import { linuxCalls } from './ffi.ts'
import { checked } from './system-error.ts'

const AF_INET = 2
const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2000000
const IPPROTO_ICMP = 1
const SOCKADDR_IN_LENGTH = 16
const MSG_DONTWAIT = 0x40
const LONGEST_MESSAGE = 65_536

export interface EchoSocket extends Disposable {
  /** A whole ICMP message; the kernel puts in its identifier and checksum. */
  send(message: Uint8Array): void
}

/** Calls `listener` with each reply of the host; the bytes are good until it returns. */
export function openEchoSocket(host: string, listener: (message: Buffer) => void): EchoSocket {
  const calls = linuxCalls()
  const fd = checked(calls.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP), 'echo socket')
  const address = Buffer.alloc(SOCKADDR_IN_LENGTH)
  address.writeUInt16LE(AF_INET, 0)
  address.set(host.split('.').map(Number), 4)
  const connected = calls.connect(fd, address)
  if (connected < 0) calls.close(fd)
  checked(connected, `echo ${host}`)
  const buffer = Buffer.allocUnsafeSlow(LONGEST_MESSAGE)
  let isOpen = true
  const readable = calls.onReadable(fd, () => {
    while (isOpen) {
      const length = calls.recv(fd, buffer, MSG_DONTWAIT)
      if (length < 0) return
      listener(buffer.subarray(0, length))
    }
  })
  return {
    send: (message) => void calls.send(fd, message, message.length, MSG_DONTWAIT),
    [Symbol.dispose]() {
      if (!isOpen) return
      isOpen = false
      readable[Symbol.dispose]()
      calls.close(fd)
    },
  }
}
