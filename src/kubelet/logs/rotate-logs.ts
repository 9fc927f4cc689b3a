import { createReadStream, createWriteStream } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'

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
  file: string,
  limits: RotationLimits,
  now: number,
): Promise<boolean> {
  const found = await stat(file).catch(() => undefined)
  if (!found || found.size < limits.maxBytes) return false
  await pack(file)
  await removeOldest(file, limits.maxFiles - 2)
  const stamp = new Date(now)
    .toISOString()
    .replaceAll(/[-:]|\.\d+Z/g, '')
    .replace('T', '-')
  const rotated = `${file}.${stamp}`
  await rename(file, rotated)
  try {
    await runtime.reopenContainerLog(containerId)
  } catch (error) {
    // It still writes into the old one, which must keep its name then.
    await rename(rotated, file)
    throw error
  }
  return true
}

async function rotatedFiles(file: string): Promise<string[]> {
  const names = await readdir(path.dirname(file))
  const prefix = `${path.basename(file)}.`
  return names.filter((name) => name.startsWith(prefix) && !name.endsWith('.tmp')).sort()
}

async function pack(file: string): Promise<void> {
  for (const name of await rotatedFiles(file)) {
    if (name.endsWith('.gz')) continue
    const plain = path.join(path.dirname(file), name)
    await pipeline(createReadStream(plain), createGzip(), createWriteStream(`${plain}.tmp`))
    await rename(`${plain}.tmp`, `${plain}.gz`)
    await rm(plain)
  }
}

async function removeOldest(file: string, kept: number): Promise<void> {
  const names = await rotatedFiles(file)
  for (const name of names.slice(0, Math.max(0, names.length - kept))) await rm(path.join(path.dirname(file), name))
}
