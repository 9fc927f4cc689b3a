/** libc for the loop in the worker. Its text is run there, so it is whole in itself. */
import type * as Koffi from 'koffi'

type Call = (...args: (number | Uint8Array)[]) => number

export interface SpliceCalls {
  readonly errno: () => number
  /** The address of bytes that stay where they are. */
  readonly addressOf: (bytes: Uint8Array) => number
  /** Into the beginning of the bytes, as the kernel has it; its length. */
  readonly writeAddress: (bytes: Buffer, ip: string, port: number) => number
  readonly call: Readonly<
    Record<
      | 'socket'
      | 'bind'
      | 'listen'
      | 'getsockname'
      | 'getsockopt'
      | 'setsockopt'
      | 'accept4'
      | 'connect'
      | 'epoll_create1'
      | 'epoll_ctl'
      | 'epoll_wait'
      | 'recv'
      | 'recvmmsg'
      | 'usleep'
      | 'sendmmsg'
      | 'send'
      | 'read'
      | 'close'
      | 'shutdown'
      | 'pipe2'
      | 'fcntl'
      | 'splice'
      | 'setns',
      Call
    >
  >
}

export function spliceCalls(koffi: typeof Koffi): SpliceCalls {
  const libc = koffi.load(null)
  const signatures = {
    socket: 'int socket(int, int, int)',
    bind: 'int bind(int, uintptr_t, uint32_t)',
    listen: 'int listen(int, int)',
    getsockname: 'int getsockname(int, uintptr_t, uintptr_t)',
    getsockopt: 'int getsockopt(int, int, int, uintptr_t, uintptr_t)',
    setsockopt: 'int setsockopt(int, int, int, uintptr_t, uint32_t)',
    accept4: 'int accept4(int, uintptr_t, uintptr_t, int)',
    connect: 'int connect(int, uintptr_t, uint32_t)',
    epoll_create1: 'int epoll_create1(int)',
    epoll_ctl: 'int epoll_ctl(int, int, int, uintptr_t)',
    epoll_wait: 'int epoll_wait(int, uintptr_t, int, int)',
    recv: 'int64_t recv(int, uintptr_t, uint64_t, int)',
    usleep: 'int usleep(uint32_t)',
    recvmmsg: 'int recvmmsg(int, uintptr_t, uint32_t, int, uintptr_t)',
    sendmmsg: 'int sendmmsg(int, uintptr_t, uint32_t, int)',
    send: 'int64_t send(int, uintptr_t, uint64_t, int)',
    read: 'int64_t read(int, uintptr_t, uint64_t)',
    close: 'int close(int)',
    shutdown: 'int shutdown(int, int)',
    pipe2: 'int pipe2(uintptr_t, int)',
    fcntl: 'int fcntl(int, int, int64_t)',
    splice: 'int64_t splice(int, uintptr_t, int, uintptr_t, uint64_t, uint32_t)',
    setns: 'int setns(int, int)',
  }
  const call: Record<string, Call> = {}
  for (const [name, signature] of Object.entries(signatures)) call[name] = libc.func(signature) as Call
  const writeAddress = (bytes: Buffer, ip: string, port: number): number => {
    const isIPv4 = !ip.includes(':')
    bytes.fill(0, 0, 28)
    bytes.writeUInt16LE(isIPv4 ? 2 : 10, 0)
    bytes.writeUInt16BE(port, 2)
    if (isIPv4) {
      let at = 4
      for (const part of ip.split('.')) bytes[at++] = Number(part)
      return 16
    }
    const [left = '', right = ''] = ip.split('::')
    const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
    const last = groups(right)
    for (const [i, group] of groups(left).entries()) bytes.writeUInt16BE(group, 8 + i * 2)
    for (const [i, group] of last.entries()) bytes.writeUInt16BE(group, 8 + (8 - last.length + i) * 2)
    return 28
  }
  const memcpy = libc.func('uintptr_t memcpy(void *, void *, size_t)')
  return {
    errno: () => koffi.errno(),
    writeAddress,
    addressOf: (bytes) => Number(memcpy(bytes, bytes, 0)),
    call: call as SpliceCalls['call'],
  }
}
