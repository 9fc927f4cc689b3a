import { lstat, open, readdir, rename, unlink } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'
import { entryOf, type Opened, openFileBeneath } from '../../linux/beneath.ts'
import { hasCode } from '../../linux/system-error.ts'
import { type LogFile, openLogFolder } from './log-files.ts'

export interface RotationLimits {
  readonly maxBytes: number
  /** The one being written counts. */
  readonly maxFiles: number
}

export const DEFAULT_ROTATION: RotationLimits = { maxBytes: 10 * 1024 * 1024, maxFiles: 5 }

/** Moves the log of a running container away when it is big enough; the older ones are packed, the oldest removed. */
export async function rotateLog(
  runtime: ContainerRuntime,
  containerId: string,
  log: LogFile,
  limits: RotationLimits,
  now: number,
): Promise<boolean> {
  using folder = await openLogFolder(log)
  const name = path.basename(log.file)
  const found = await lstat(entryOf(folder.descriptor, name)).catch(() => undefined)
  if (!found?.isFile() || found.size < limits.maxBytes) return false
  for (const older of await rotatedNames(folder, name)) if (!older.endsWith('.gz')) await pack(folder, older)
  await removeOldest(folder, name, limits.maxFiles - 2)
  const stamp = new Date(now)
    .toISOString()
    .replaceAll(/[-:]|\.\d+Z/g, '')
    .replace('T', '-')
  const [current, rotated] = [entryOf(folder.descriptor, name), entryOf(folder.descriptor, `${name}.${stamp}`)]
  await rename(current, rotated)
  try {
    await runtime.reopenContainerLog(containerId)
  } catch (error) {
    // It still writes into the old one, which must keep its name then.
    await rename(rotated, current)
    throw error
  }
  return true
}

async function rotatedNames(folder: Opened, name: string): Promise<string[]> {
  const names = await readdir(folder.path)
  return names.filter((other) => other.startsWith(`${name}.`) && !other.endsWith('.tmp')).sort()
}

async function pack(folder: Opened, name: string): Promise<void> {
  const at = (entry: string) => entryOf(folder.descriptor, entry)
  await unlink(at(`${name}.tmp`)).catch(ignoreMissing)
  const plain = await openFileBeneath(folder.descriptor, name).catch((error) => {
    if (!hasCode(error, 'ELOOP')) throw error
  })
  // A link is no log of ours.
  if (!plain) return unlink(at(name)).catch(ignoreMissing)
  // A new file: a link that is put there meanwhile is an error.
  const packed = await open(at(`${name}.tmp`), 'wx', 0o640)
  await pipeline(plain.createReadStream(), createGzip(), packed.createWriteStream())
  await rename(at(`${name}.tmp`), at(`${name}.gz`))
  await unlink(at(name))
}

async function removeOldest(folder: Opened, name: string, kept: number): Promise<void> {
  const names = await rotatedNames(folder, name)
  for (const older of names.slice(0, Math.max(0, names.length - kept))) await unlink(entryOf(folder.descriptor, older))
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
