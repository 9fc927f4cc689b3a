import type { Socket } from 'node:net'
import { linuxCalls } from './ffi.ts'
import { checked } from './system-error.ts'

const SOL_IP = 0
const SO_ORIGINAL_DST = 80
const SOCKADDR_IN_LENGTH = 16

/** Where an accepted IPv4 connection was going before a rule redirected it here. */
export function originalDestination(socket: Socket): { readonly host: string; readonly port: number } {
  const { _handle: handle } = socket as unknown as { _handle?: { fd: number } }
  const address = Buffer.alloc(SOCKADDR_IN_LENGTH)
  checked(linuxCalls().getsockopt(handle?.fd ?? -1, SOL_IP, SO_ORIGINAL_DST, address), 'original destination')
  return { host: address.subarray(4, 8).join('.'), port: address.readUInt16BE(2) }
}
