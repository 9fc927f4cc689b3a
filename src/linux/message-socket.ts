import { linuxCalls } from './ffi.ts'

const MSG_DONTWAIT = 0x40

export interface MessageSocket extends Disposable {
  /** Written as it is; a full queue loses it, as an Ethernet would. */
  send(message: Uint8Array): void
}

/** Takes over a socket of messages: `listener` has each that comes, in bytes that are good until it returns. */
export function messageSocket(fd: number, longest: number, listener: (message: Buffer) => void): MessageSocket {
  const calls = linuxCalls()
  const buffer = Buffer.allocUnsafeSlow(longest)
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
