/**
 * The only door to libc. Every call answers what the kernel would: a result, or the negated errno. Nothing here keeps
 * state, so that another FFI (Node's own) can take koffi's place.
 */
import { createRequire } from 'node:module'
import type * as Koffi from 'koffi'
import { koffiCalls } from './ffi/koffi.ts'
import { koffiFileCalls } from './ffi/koffi-files.ts'

export interface LinuxCalls {
  socket(domain: number, type: number, protocol: number): number
  bind(fd: number, address: Uint8Array): number
  connect(fd: number, address: Uint8Array): number
  listen(fd: number, backlog: number): number
  getsockname(fd: number, address: Uint8Array): number
  getsockopt(fd: number, level: number, option: number, value: Uint8Array): number
  setsockopt(fd: number, level: number, option: number, value: Uint8Array): number
  send(fd: number, bytes: Uint8Array, length: number, flags: number): number
  /** On a thread of its own: the caller must not touch `bytes` before the answer. */
  sendAsync(fd: number, bytes: Uint8Array, length: number, flags: number): Promise<number>
  recv(fd: number, bytes: Uint8Array, flags: number): number
  close(fd: number): number
  setns(fd: number, type: number): number
  unshare(flags: number): number
  mount(source: string, target: string, type: string, flags: number): number
  umount(target: string, flags: number): number
  /** Calls `listener` in the event loop whenever `fd` is readable, until disposed. Does not keep the process alive. */
  onReadable(fd: number, listener: () => void): Disposable
}

/** Calls on files relative to an open folder. Node has none of them. Paths in bytes end with a NUL. */
export interface FileCalls {
  openat(folder: number, name: string, flags: number, mode: number): number
  /** `how` is the kernel's struct open_how. */
  openat2(folder: number, path: Uint8Array, how: Uint8Array): number
  /** On a thread of its own: a file system that does not answer blocks nothing else. */
  openat2Async(folder: number, path: Uint8Array, how: Uint8Array): Promise<number>
  mkdirat(folder: number, name: string, mode: number): number
  symlinkat(text: string, folder: number, name: string): number
  linkat(from: number, fromName: string, to: number, toName: string): number
  unlinkat(folder: number, name: string, flags: number): number
  /** Of a symbolic link itself. */
  lchownat(folder: number, name: string, uid: number, gid: number): number
  /** What was opened here is closed here: Node keeps account of its own descriptors. */
  close(descriptor: number): number
}

let loaded: LinuxCalls | undefined
let loadedForFiles: FileCalls | undefined

/** Loaded at the first use: a control plane that runs no pods never pays for it. */
export function linuxCalls(): LinuxCalls {
  loaded ??= koffiCalls(koffi('pod networking'))
  return loaded
}

export function fileCalls(): FileCalls {
  loadedForFiles ??= koffiFileCalls(koffi('running pods'))
  return loadedForFiles
}

function koffi(what: string): typeof Koffi {
  if (process.platform !== 'linux') throw new Error(`${what} needs Linux, this is ${process.platform}`)
  return createRequire(import.meta.url)('koffi') as typeof Koffi
}
