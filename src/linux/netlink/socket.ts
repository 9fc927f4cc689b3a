import { linuxCalls } from '../ffi.ts'
import { inNamespace } from '../namespaces/kernel-namespaces.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import { checked, LinuxError } from '../system-error.ts'
import { refusalError, refusalOf } from './netlink-error.ts'
import { messagesIn, type NetlinkMessage } from './reader.ts'
import { NetlinkWriter } from './writer.ts'

export const NLM_F_REQUEST = 1
export const NLM_F_ACK = 4
export const NLM_F_DUMP = 0x300
export const NLM_F_REPLACE = 0x100
export const NLM_F_EXCL = 0x200
export const NLM_F_CREATE = 0x400
export const NLM_F_APPEND = 0x800

export const NLMSG_ERROR = 2
const NLMSG_DONE = 3
const NLMSG_NOOP = 1
const NLM_F_DUMP_INTR = 0x10

export const NETLINK_ROUTE = 0
export const NETLINK_SOCK_DIAG = 4
export const NETLINK_NETFILTER = 12

const AF_NETLINK = 16
const SOCK_RAW = 3
const SOCK_CLOEXEC = 0o2000000
const SOL_SOCKET = 1
const SO_SNDBUF = 7
const SO_RCVBUF = 8
const SO_SNDBUFFORCE = 32
const SO_RCVBUFFORCE = 33
const SOL_NETLINK = 270
const NETLINK_ADD_MEMBERSHIP = 1
const NETLINK_CAP_ACK = 10
const NETLINK_EXT_ACK = 11
const NETLINK_GET_STRICT_CHK = 12
const MSG_DONTWAIT = 0x40
const EINTR = 4
const EPERM = 1
const EBADF = 9
const EAGAIN = 11
const ENOBUFS = 105

/** Everything runs on one thread and every receive is read before the next: one buffer serves all sockets. */
const RECEIVE_BUFFER_BYTES = 1 << 18
let receiveBuffer: Buffer | undefined
const requestWriter = new NetlinkWriter(1 << 12)

const int32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}

export interface NetlinkSocketOptions {
  readonly namespace?: NetworkNamespace
  readonly receiveBufferBytes?: number
}

/**
 * Requests and their answers, synchronously: the kernel works inside send(), and the answer is queued when it returns, so
 * that receiving never waits.
 */
export class NetlinkSocket implements Disposable {
  readonly fd: number
  private sequence = 1
  private sendBufferBytes = 0
  private open = true

  constructor(protocol: number, options: NetlinkSocketOptions = {}) {
    const make = () => checked(linuxCalls().socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), 'netlink socket')
    this.fd = options.namespace ? inNamespace(options.namespace.fd, make) : make()
    const address = Buffer.alloc(12)
    address.writeUInt16LE(AF_NETLINK)
    checked(linuxCalls().bind(this.fd, address), 'netlink bind')
    for (const option of [NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK]) {
      // Old kernels lack some of them; answers are then less precise, not wrong.
      linuxCalls().setsockopt(this.fd, SOL_NETLINK, option, int32(1))
    }
    if (options.receiveBufferBytes) this.setBuffer(SO_RCVBUFFORCE, SO_RCVBUF, options.receiveBufferBytes)
  }

  join(group: number): void {
    this.setOption(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
  }

  /** Sends one message and answers what the kernel says before its acknowledgement. `what` names it in an error. */
  request(type: number, flags: number, what: string, fill: (writer: NetlinkWriter) => void): NetlinkMessage[] {
    const replies: NetlinkMessage[] = []
    this.exchange(type, flags | NLM_F_ACK, what, fill, (message) =>
      replies.push({ ...message, data: Buffer.from(message.data) }),
    )
    return replies
  }

  /** Every object of a table. Starts again when the table changed under the dump. */
  dump<T>(
    type: number,
    what: string,
    fill: (writer: NetlinkWriter) => void,
    parse: (message: NetlinkMessage) => T | undefined,
  ): T[] {
    for (;;) {
      const found: T[] = []
      const whole = this.exchange(type, NLM_F_DUMP, what, fill, (message) => {
        const parsed = parse(message)
        if (parsed !== undefined) found.push(parsed)
      })
      if (whole) return found
    }
  }

  send(bytes: Uint8Array, length: number): void {
    this.ensureSendBuffer(length)
    checked(linuxCalls().send(this.fd, bytes, length, 0), 'netlink send')
  }

  async sendAsync(bytes: Uint8Array, length: number): Promise<void> {
    this.ensureSendBuffer(length)
    checked(await linuxCalls().sendAsync(this.fd, bytes, length, 0), 'netlink send')
  }

  /** What is queued now, without waiting. `overrun` is called when the kernel had to drop messages. */
  drain(visit: (message: NetlinkMessage) => void, overrun?: () => void): void {
    // A listener may close the socket, and its number may be another file's by then.
    while (this.open) {
      const bytes = this.receive(MSG_DONTWAIT, overrun)
      if (!bytes) return
      for (const message of messagesIn(bytes)) visit(message)
    }
  }

  /** Calls back in the event loop for each message that arrives, until disposed. */
  onMessage(visit: (message: NetlinkMessage) => void, overrun?: () => void): Disposable {
    return linuxCalls().onReadable(this.fd, () => this.drain(visit, overrun))
  }

  [Symbol.dispose](): void {
    if (this.open) linuxCalls().close(this.fd)
    this.open = false
  }

  /** False when the kernel says that the answer is not of one moment. */
  private exchange(
    type: number,
    flags: number,
    what: string,
    fill: (writer: NetlinkWriter) => void,
    visit: (message: NetlinkMessage) => void,
  ): boolean {
    const sequence = this.sequence++
    const writer = requestWriter.reset()
    const start = writer.beginMessage(type, flags | NLM_F_REQUEST, sequence)
    fill(writer)
    writer.endMessage(start)
    this.send(writer.bytes, writer.length)
    let whole = true
    for (;;) {
      for (const message of messagesIn(this.receive(0)!)) {
        if (message.sequence !== sequence) continue
        if (message.flags & NLM_F_DUMP_INTR) whole = false
        if (isLast(message, what)) return whole
        if (message.type !== NLMSG_NOOP) visit(message)
      }
    }
  }

  private receive(flags: number, overrun?: () => void): Buffer | undefined {
    receiveBuffer ??= Buffer.allocUnsafeSlow(RECEIVE_BUFFER_BYTES)
    for (;;) {
      const length = linuxCalls().recv(this.fd, receiveBuffer, flags)
      if (length >= 0) return receiveBuffer.subarray(0, length)
      if (length === -EAGAIN) return undefined
      if (length === -ENOBUFS && overrun) overrun()
      else if (length !== -EINTR) throw new LinuxError(-length, 'netlink receive')
    }
  }

  /** A message must fit into the send buffer as a whole; a big nftables transaction has tens of megabytes. */
  private ensureSendBuffer(length: number): void {
    if (!this.open) throw new LinuxError(EBADF, 'netlink send')
    if (length + 4096 <= this.sendBufferBytes) return
    this.sendBufferBytes = Math.max(1 << 18, length * 2)
    this.setBuffer(SO_SNDBUFFORCE, SO_SNDBUF, this.sendBufferBytes)
  }

  /** Root in a user namespace may not go beyond the system's limit. */
  private setBuffer(forced: number, limited: number, size: number): void {
    const set = (option: number) => linuxCalls().setsockopt(this.fd, SOL_SOCKET, option, int32(size))
    if (set(forced) === -EPERM) checked(set(limited), `netlink socket option ${limited}`)
  }

  private setOption(level: number, option: number, value: number): void {
    checked(linuxCalls().setsockopt(this.fd, level, option, int32(value)), `netlink socket option ${option}`)
  }
}

/** The acknowledgement or the end of a dump; a refusal is thrown. */
function isLast(message: NetlinkMessage, what: string): boolean {
  if (message.type === NLMSG_ERROR) {
    const refusal = refusalOf(message)
    if (refusal) throw refusalError(refusal, what)
    return true
  }
  if (message.type !== NLMSG_DONE) return false
  const errno = message.data.length >= 4 ? -message.data.readInt32LE(0) : 0
  if (errno > 0) throw new LinuxError(errno, what)
  return true
}
