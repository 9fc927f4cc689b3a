import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, stat } from 'node:fs/promises'
import path from 'node:path'

/** Linux has no name for it in Node: a handle to a place, without reading what is there. */
const O_PATH = 0o10000000

/**
 * A part of a volume, however its links twist: what lies outside of the volume is refused. The caller must use the
 * handle (`/proc/self/fd/N`), not the path, because the volume's user may change the path at any moment.
 */
export async function openSubPath(volume: string, subPath: string): Promise<FileHandle> {
  const base = await realpath(volume)
  const target = await realpath(await madeBelow(base, subPath))
  return openBelow(base, target)
}

/** A file of a volume; undefined where there is none. What is no plain file, or too large, is refused. */
export async function readVolumeFile(volume: string, file: string, maxBytes: number): Promise<string | undefined> {
  const base = await realpath(volume)
  const target = await realpath(path.join(base, file)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (target === undefined) return undefined
  const handle = await openBelow(base, target)
  try {
    if (!(await handle.stat()).isFile()) throw new Error(`"${file}" is not a file`)
    return await readUpTo(`/proc/self/fd/${handle.fd}`, file, maxBytes)
  } finally {
    await handle.close()
  }
}

/** The file may grow while it is read. */
async function readUpTo(path: string, name: string, maxBytes: number): Promise<string> {
  const handle = await open(path)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0)
    if (bytesRead > maxBytes) throw new Error(`"${name}" is larger than ${maxBytes} bytes`)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

async function openBelow(base: string, target: string): Promise<FileHandle> {
  if (!isBelow(base, target)) throw new Error(`subpath "${target}" not within volume path "${base}"`)
  let handle = await open(base, O_PATH | constants.O_DIRECTORY)
  for (const part of path.relative(base, target).split('/').filter(Boolean)) {
    const next = await open(`/proc/self/fd/${handle.fd}/${part}`, O_PATH | constants.O_NOFOLLOW).finally(() =>
      handle.close(),
    )
    handle = next
    if ((await handle.stat()).isSymbolicLink()) {
      await handle.close()
      throw new Error(`subpath "${target}" was changed into a link while it was opened`)
    }
  }
  return handle
}

/** The path with the folders that were missing, made as the volume's own; never through a link to the outside. */
async function madeBelow(base: string, subPath: string): Promise<string> {
  const { mode } = await stat(base)
  let current = base
  for (const part of subPath.split('/').filter((one) => one !== '' && one !== '.')) {
    const next = path.join(current, part)
    const found = await lstat(next).catch(() => undefined)
    if (!found) {
      await mkdir(next, { mode: mode & 0o777 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      current = next
      continue
    }
    current = found.isSymbolicLink() ? await realpath(next) : next
    if (!isBelow(base, current)) throw new Error(`subpath "${current}" not within volume path "${base}"`)
  }
  return current
}

const isBelow = (base: string, target: string) => target === base || target.startsWith(base === '/' ? '/' : `${base}/`)
