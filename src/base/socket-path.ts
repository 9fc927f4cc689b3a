import { createHash } from 'node:crypto'
import { mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** The kernel's limit for a socket path is 108 bytes with its end. */
const MAX_SOCKET_PATH = 100
const PREFIX = 'sampan-socket-'

/**
 * The wanted path for a socket or, where that is too deep, one in a folder that only this user can enter. The folder's name
 * follows from the path alone: inside a user namespace the same user has another number.
 */
export function socketPath(wanted: string): string {
  if (Buffer.byteLength(wanted) <= MAX_SOCKET_PATH) return wanted
  const hash = createHash('sha256').update(path.dirname(wanted)).digest('hex').slice(0, 16)
  const folder = path.join(tmpdir(), PREFIX + hash)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (statSync(folder).uid !== process.getuid?.()) throw new Error(`${folder} belongs to another user`)
  return path.join(folder, path.basename(wanted))
}

/** Removes what is left of a socket, and the folder made for it unless others are in there. */
export function removeSocket(socket: string): void {
  rmSync(socket, { force: true })
  const folder = path.dirname(socket)
  if (!path.basename(folder).startsWith(PREFIX)) return
  try {
    rmdirSync(folder)
  } catch {
    // Sockets of the same server are in it, or it is gone already.
  }
}
