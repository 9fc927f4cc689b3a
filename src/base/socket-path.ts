import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, rmdirSync, rmSync } from 'node:fs'
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
  makeOwnFolder(folder)
  return path.join(folder, path.basename(wanted))
}

/** Anyone can make a folder or a link of this name among temporary files before we do: one that is not ours is refused. */
function makeOwnFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const found = lstatSync(folder)
  const problem = !found.isDirectory()
    ? 'is not a folder'
    : found.uid !== process.getuid?.()
      ? 'belongs to another user'
      : found.mode & 0o077
        ? 'can be used by other users'
        : undefined
  if (problem) throw new Error(`${folder} ${problem}: remove it, or use a data directory with a shorter path`)
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
