import { chmod, lchown, lstat, readdir } from 'node:fs/promises'
import path from 'node:path'
import { ignoreUnprivileged } from './atomic-writer.ts'

const READ_WRITE = 0o660
const READ_ONLY = 0o440
const SEARCH = 0o110
const SET_GROUP_ID = 0o2000

/** Gives everything below a folder to a group that may read it, and write unless it is read-only. */
export async function setGroup(directory: string, group: number, isReadOnly: boolean): Promise<void> {
  await apply(directory, group, isReadOnly ? READ_ONLY : READ_WRITE)
}

async function apply(target: string, group: number, mask: number): Promise<void> {
  const found = await lstat(target)
  if (found.isSymbolicLink()) {
    await lchown(target, -1, group).catch(ignoreUnprivileged)
    return
  }
  const extra = found.isDirectory() ? mask | SEARCH | SET_GROUP_ID : mask
  const isRight = found.gid === group && (found.mode & extra) === extra
  if (found.gid !== group) await lchown(target, -1, group).catch(ignoreUnprivileged)
  if (!isRight) await chmod(target, (found.mode & 0o7777) | extra)
  if (!found.isDirectory()) return
  for (const name of await readdir(target)) await apply(path.join(target, name), group, mask)
}

/** `OnRootMismatch`: if the top is right, all of it is taken to be. */
export async function rootMatches(directory: string, group: number, isReadOnly: boolean): Promise<boolean> {
  const found = await lstat(directory)
  const mask = (isReadOnly ? READ_ONLY : READ_WRITE) | SEARCH | SET_GROUP_ID
  return found.gid === group && (found.mode & mask) === mask
}
