import type * as Koffi from 'koffi'
import type { LinuxCalls } from '../ffi.ts'

const SIGNATURES = {
  socket: 'int socket(int domain, int type, int protocol)',
  bind: 'int bind(int fd, void *address, uint32_t length)',
  connect: 'int connect(int fd, void *address, uint32_t length)',
  listen: 'int listen(int fd, int backlog)',
  getsockname: 'int getsockname(int fd, void *address, void *length)',
  getsockopt: 'int getsockopt(int fd, int level, int option, void *value, void *length)',
  setsockopt: 'int setsockopt(int fd, int level, int option, void *value, uint32_t length)',
  send: 'int64_t send(int fd, void *bytes, size_t length, int flags)',
  recv: 'int64_t recv(int fd, void *bytes, size_t length, int flags)',
  close: 'int close(int fd)',
  setns: 'int setns(int fd, int type)',
  unshare: 'int unshare(int flags)',
  mount: 'int mount(const char *source, const char *target, const char *type, unsigned long flags, void *data)',
  umount2: 'int umount2(const char *target, int flags)',
} as const

type Symbols = Record<keyof typeof SIGNATURES, ReturnType<Koffi.LibraryHandle['func']>>

/** The symbols of the process itself: glibc or musl, whichever Node was built on. */
function symbolsOf(koffi: typeof Koffi): Symbols {
  const libc = koffi.load(null)
  const entries = Object.entries(SIGNATURES).map(([name, signature]) => [name, libc.func(signature)])
  return Object.fromEntries(entries) as Symbols
}

export function koffiCalls(koffi: typeof Koffi): LinuxCalls {
  const libc = symbolsOf(koffi)
  const answer = (result: number | bigint): number => {
    const value = Number(result)
    return value < 0 ? -koffi.errno() : value
  }
  const send: LinuxCalls['send'] = (fd, bytes, length, flags) => answer(libc.send(fd, bytes, length, flags))
  return {
    send,
    socket: (domain, type, protocol) => answer(libc.socket(domain, type, protocol)),
    bind: (fd, address) => answer(libc.bind(fd, address, address.length)),
    connect: (fd, address) => answer(libc.connect(fd, address, address.length)),
    listen: (fd, backlog) => answer(libc.listen(fd, backlog)),
    getsockname: (fd, address) => answer(libc.getsockname(fd, address, new Uint32Array([address.length]))),
    getsockopt: (fd, level, option, value) =>
      answer(libc.getsockopt(fd, level, option, value, new Uint32Array([value.length]))),
    setsockopt: (fd, level, option, value) => answer(libc.setsockopt(fd, level, option, value, value.length)),
    recv: (fd, bytes, flags) => answer(libc.recv(fd, bytes, bytes.length, flags)),
    close: (fd) => answer(libc.close(fd)),
    setns: (fd, type) => answer(libc.setns(fd, type)),
    unshare: (flags) => answer(libc.unshare(flags)),
    mount: (source, target, type, flags) => answer(libc.mount(source, target, type, flags, null)),
    umount: (target, flags) => answer(libc.umount2(target, flags)),
    sendAsync: (fd, bytes, length, flags) =>
      new Promise((resolve, reject) => {
        libc.send.async(fd, bytes, length, flags, (error: unknown, result: number | bigint) => {
          if (error) reject(error)
          // The errno stayed on the other thread; nothing was sent, so a repetition tells it.
          else resolve(Number(result) < 0 ? send(fd, bytes, length, flags) : Number(result))
        })
      }),
    onReadable: (fd, listener) => onReadable(koffi, fd, listener),
  }
}

function onReadable(koffi: typeof Koffi, fd: number, listener: () => void): Disposable {
  const handle = koffi.node.poll(fd, { readable: true }, () => listener())
  handle.unref()
  let open = true
  return {
    [Symbol.dispose]: () => {
      if (open) handle.close()
      open = false
    },
  }
}
