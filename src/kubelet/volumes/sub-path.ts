import { chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { entryOf, O_PLACE, type Opened, openBeneath, openFileBeneath, openFolder } from '../../linux/beneath.ts'
import { hasCode } from '../../linux/system-error.ts'

/**
 * Opens a part of a volume, with the folders that are missing made. Links lead only inside the volume. The caller must
 * use the descriptor, not a path: those who write to the volume may change what a path leads to at any moment.
 */
export async function openSubPath(volume: string, subPath: string): Promise<Opened> {
  using root = await openFolder(volume)
  const parts = subPath.split('/').filter((part) => part !== '' && part !== '.')
  const found = await openWithin(root, volume, parts.join('/') || '.')
  return found ?? (await makeMissing(root, volume, parts))
}

/** Reads a file of a volume; undefined where there is none. What is not a plain file, or too large, is refused. */
export async function readVolumeFile(volume: string, file: string, maxBytes: number): Promise<string | undefined> {
  using root = await openFolder(volume)
  const handle = await openFileBeneath(root.descriptor, file, 'follow').catch((error) => {
    throw hasCode(error, 'EXDEV') ? outside(file, volume) : error
  })
  if (!handle) return undefined
  try {
    const bytes = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = (await handle.read(bytes, length, bytes.length - length)).bytesRead
    if (length > maxBytes) throw new Error(`"${file}" is larger than ${maxBytes} bytes`)
    return bytes.toString('utf8', 0, length)
  } finally {
    await handle.close()
  }
}

/** Undefined where there is nothing by that path. */
async function openWithin(root: Opened, volume: string, subPath: string): Promise<Opened | undefined> {
  try {
    return await openBeneath(root.descriptor, subPath, { flags: O_PLACE, links: 'follow' })
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    if (!hasCode(error, 'EXDEV')) throw error
    return await openByAbsoluteLink(root, volume, subPath)
  }
}

/** A link of the node's administrator may name a place of the volume by its path on the node. */
async function openByAbsoluteLink(root: Opened, volume: string, subPath: string): Promise<Opened | undefined> {
  const base = await realpath(root.path)
  const target = await realpath(`${root.path}/${subPath}`).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (target === undefined) return undefined
  const inside = path.relative(base, target)
  if (inside === '..' || inside.startsWith('../')) throw outside(subPath, volume)
  return openBeneath(root.descriptor, inside || '.', { flags: O_PLACE })
}

const outside = (subPath: string, volume: string) =>
  new Error(`subpath "${subPath}" not within volume path "${volume}"`)

/** New folders have the mode of the volume, whatever the umask of this process. */
async function makeMissing(root: Opened, volume: string, parts: readonly string[]): Promise<Opened> {
  const mode = (await stat(root.path)).mode & 0o777
  let from = parts.length - 1
  let parent = await openWithin(root, volume, parts.slice(0, from).join('/') || '.')
  while (!parent) parent = await openWithin(root, volume, parts.slice(0, --from).join('/') || '.')
  for (const part of parts.slice(from)) {
    using folder = parent
    parent = await makeFolder(folder, part, mode)
  }
  return parent
}

async function makeFolder(parent: Opened, name: string, mode: number): Promise<Opened> {
  const isNew = await mkdir(entryOf(parent.descriptor, name), { mode }).then(() => true, unlessThere)
  const folder = await openBeneath(parent.descriptor, name, { flags: O_PLACE })
  try {
    // Only what is empty: it may have been exchanged for the folder of someone else already.
    if (isNew && (await readdir(folder.path)).length === 0) await chmod(folder.path, mode)
    return folder
  } catch (error) {
    folder[Symbol.dispose]()
    throw error
  }
}

function unlessThere(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'EEXIST') return false
  throw error
}
