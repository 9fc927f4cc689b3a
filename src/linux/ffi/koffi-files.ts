import type * as Koffi from 'koffi'
import type { FileCalls } from '../ffi.ts'
import { ownArchitecture, syscallNumbers } from '../syscall-numbers.ts'

const AT_SYMLINK_NOFOLLOW = 0x100

export function koffiFileCalls(koffi: typeof Koffi): FileCalls {
  const libc = koffi.load(null)
  const openat = libc.func('int openat(int folder, const char *name, int flags, uint32_t mode)')
  const mkdirat = libc.func('int mkdirat(int folder, const char *name, uint32_t mode)')
  const symlinkat = libc.func('int symlinkat(const char *text, int folder, const char *name)')
  const linkat = libc.func('int linkat(int from, const char *fromName, int to, const char *toName, int flags)')
  const unlinkat = libc.func('int unlinkat(int folder, const char *name, int flags)')
  const fchownat = libc.func('int fchownat(int folder, const char *name, uint32_t uid, uint32_t gid, int flags)')
  const close = libc.func('int close(int descriptor)')
  // No libc that Node runs on has a function of its own for openat2.
  const syscall = libc.func('syscall', 'int64_t', ['int64_t', 'int', 'void *', 'void *', 'size_t'])
  const number = syscallNumbers(ownArchitecture()).get('openat2')!
  const answer = (result: number | bigint) => (Number(result) < 0 ? -koffi.errno() : Number(result))
  const openat2: FileCalls['openat2'] = (folder, path, how) => answer(syscall(number, folder, path, how, how.length))
  return {
    openat2,
    openat: (folder, name, flags, mode) => answer(openat(folder, name, flags, mode)),
    mkdirat: (folder, name, mode) => answer(mkdirat(folder, name, mode)),
    symlinkat: (text, folder, name) => answer(symlinkat(text, folder, name)),
    linkat: (from, fromName, to, toName) => answer(linkat(from, fromName, to, toName, 0)),
    unlinkat: (folder, name, flags) => answer(unlinkat(folder, name, flags)),
    lchownat: (folder, name, uid, gid) => answer(fchownat(folder, name, uid, gid, AT_SYMLINK_NOFOLLOW)),
    close: (descriptor) => answer(close(descriptor)),
    openat2Async: (folder, path, how) =>
      new Promise((resolve, reject) => {
        syscall.async(number, folder, path, how, how.length, (error: unknown, result: number | bigint) => {
          if (error) reject(error)
          // The errno stayed on the other thread. A second try gives it, and now the kernel knows the answer.
          else resolve(Number(result) < 0 ? openat2(folder, path, how) : Number(result))
        })
      }),
  }
}
