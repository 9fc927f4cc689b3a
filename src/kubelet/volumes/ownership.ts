import type { Stats } from 'node:fs'
import { chmod, chown, lchown, lstat, readdir, stat } from 'node:fs/promises'
import { entryOf, O_FOLDER, O_PLACE, type Opened, openBeneath, openFolder } from '../../linux/beneath.ts'
import { O_NOFOLLOW } from '../../linux/mounts.ts'
import { hasCode } from '../../linux/system-error.ts'
import { ignoreUnprivileged } from './atomic-writer.ts'

const READ_WRITE = 0o660
const READ_ONLY = 0o440
const SEARCH = 0o110
const SET_GROUP_ID = 0o2000
const SLASH = Buffer.from('/')

/**
 * Gives everything in a folder to a group that may read it, and write unless it is read-only. Containers may change the
 * folder meanwhile: each file is opened without following a link, and changed by its descriptor.
 */
export async function setGroup(directory: string, group: number, isReadOnly: boolean): Promise<void> {
  using root = await openFolder(directory)
  const mask = isReadOnly ? READ_ONLY : READ_WRITE
  // Paths from the root, so that a deep tree does not need a descriptor for each level.
  const left = [Buffer.from('.')]
  for (let path = left.pop(); path; path = left.pop()) {
    using folder = await openUnlessGone(root.descriptor, path, O_FOLDER)
    if (!folder) continue
    await change(folder, await stat(folder.path), group, mask)
    for (const name of await readdir(folder.path, { encoding: 'buffer' })) {
      if (await isFolderAfterChange(folder, name, group, mask)) left.push(Buffer.concat([path, SLASH, name]))
    }
  }
}

/** Changes what is not a folder; says whether it is one. */
async function isFolderAfterChange(folder: Opened, name: Buffer, group: number, mask: number): Promise<boolean> {
  const entry = entryOf(folder.descriptor, name)
  const found = await lstat(entry).catch(ignoreGone)
  if (!found || found.isDirectory()) return found !== undefined
  // A link has no mode, and this call does not follow it.
  if (found.isSymbolicLink()) await lchown(entry, -1, group).catch(ignoreGone).catch(ignoreUnprivileged)
  else if (!isRight(found, group, mask)) {
    using place = await openUnlessGone(folder.descriptor, name, O_PLACE | O_NOFOLLOW)
    const now = place && (await stat(place.path))
    if (now?.isDirectory()) return true
    if (place && now && !now.isSymbolicLink()) await change(place, now, group, mask)
  }
  return false
}

/** By descriptor. Not for links. */
async function change(place: Opened, found: Stats, group: number, mask: number): Promise<void> {
  const wanted = found.isDirectory() ? mask | SEARCH | SET_GROUP_ID : mask
  if (isRight(found, group, wanted)) return
  if (found.gid !== group) await chown(place.path, -1, group).catch(ignoreUnprivileged)
  await chmod(place.path, (found.mode & 0o7777) | wanted)
}

const isRight = ({ gid, mode }: Stats, group: number, mask: number) => gid === group && (mode & mask) === mask

/** What is removed or replaced meanwhile does not need the group. */
async function openUnlessGone(folder: number, path: Buffer, flags: number): Promise<Opened | undefined> {
  try {
    return await openBeneath(folder, path, { flags })
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}

function ignoreGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

/** `OnRootMismatch`: if the top is right, all of it is taken to be. */
export async function rootMatches(directory: string, group: number, isReadOnly: boolean): Promise<boolean> {
  const mask = (isReadOnly ? READ_ONLY : READ_WRITE) | SEARCH | SET_GROUP_ID
  return isRight(await stat(directory), group, mask)
}
