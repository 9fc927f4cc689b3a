/**
 * The only door to libc. Every call answers what the kernel would: a result, or the negated errno. Nothing here keeps
 * state, so that another FFI (Node's own) can take koffi's place.
 */
import { createRequire } from 'node:module'
import type * as Koffi from 'koffi'
import { koffiCalls } from './ffi/koffi.ts'

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

let loaded: LinuxCalls | undefined

/** Loaded at the first use: a control plane that runs no pods never pays for it. */
export function linuxCalls(): LinuxCalls {
  if (loaded) return loaded
  if (process.platform !== 'linux') throw new Error(`pod networking needs Linux, this is ${process.platform}`)
  loaded = koffiCalls(createRequire(import.meta.url)('koffi') as typeof Koffi)
  return loaded
}
