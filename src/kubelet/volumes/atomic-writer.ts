import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import type { Payload } from './payload.ts'

const DATA = '..data'
const NEW_DATA = '..data_tmp'

/**
 * Makes a folder show exactly these files. All of them change at once: the files are written into a new hidden folder,
 * to which the link `..data` is switched; what users see are links through it. Returns whether anything changed.
 */
export async function writePayload(directory: string, payload: Payload, now: number): Promise<boolean> {
  for (const name of payload.keys()) checkName(name)
  if (await mkdir(directory, { recursive: true })) await chmod(directory, 0o755)
  const current = await readlink(path.join(directory, DATA)).catch(() => undefined)
  if (current !== undefined && (await isSame(path.join(directory, DATA), payload))) {
    await linkFirstParts(directory, payload)
    return false
  }
  const fresh = await newFolder(directory, now)
  for (const [name, file] of payload) {
    const target = path.join(directory, fresh, name)
    await mkdir(path.dirname(target), { recursive: true, mode: 0o755 })
    await writeFile(target, file.data)
    await chmod(target, file.mode)
    if (file.uid !== undefined) await chown(target, file.uid, -1).catch(ignoreUnprivileged)
  }
  await rm(path.join(directory, NEW_DATA), { force: true })
  await symlink(fresh, path.join(directory, NEW_DATA))
  await rename(path.join(directory, NEW_DATA), path.join(directory, DATA))
  await linkFirstParts(directory, payload)
  await removeStale(directory, payload)
  if (current !== undefined) await rm(path.join(directory, path.basename(current)), { recursive: true, force: true })
  return true
}

/** The API server refuses such names too, but not all that a kubelet runs has passed it. */
function checkName(name: string): void {
  const parts = name.split('/')
  const isBad = parts.some((part) => part === '' || part === '.' || part === '..') || parts[0]!.startsWith('..')
  if (isBad || name.includes('\0')) throw new Error(`invalid path of a file in a volume: ${JSON.stringify(name)}`)
}

/** `..2026_11_16_08_05_09.123`; a number follows if it is taken. */
async function newFolder(directory: string, now: number): Promise<string> {
  const stamp = `..${new Date(now).toISOString().replace('Z', '').replaceAll(/[-:T]/g, '_')}`
  for (let i = 0; ; i++) {
    const name = i === 0 ? stamp : `${stamp}${i}`
    try {
      await mkdir(path.join(directory, name), { mode: 0o755 })
      return name
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

const firstPart = (name: string) => name.split('/')[0]!

async function linkFirstParts(directory: string, payload: Payload): Promise<void> {
  for (const part of new Set([...payload.keys()].map(firstPart))) {
    const link = path.join(directory, part)
    const known = await lstat(link).catch(() => undefined)
    if (!known) await symlink(path.join(DATA, part), link)
  }
}

async function removeStale(directory: string, payload: Payload): Promise<void> {
  const wanted = new Set([...payload.keys()].map(firstPart))
  for (const name of await readdir(directory))
    if (!name.startsWith('..') && !wanted.has(name))
      await rm(path.join(directory, name), { recursive: true, force: true })
}

async function isSame(data: string, payload: Payload): Promise<boolean> {
  const names = (await readdir(data, { recursive: true, withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(data, path.join(entry.parentPath, entry.name)))
  if (names.length !== payload.size) return false
  for (const [name, file] of payload) {
    const found = await stat(path.join(data, name)).catch(() => undefined)
    if (!found?.isFile() || found.size !== file.data.length) return false
    if (!(await readFile(path.join(data, name))).equals(file.data)) return false
  }
  return true
}

/** Without the privilege files belong to whoever runs the node, as everything does then. */
export function ignoreUnprivileged(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPERM' || process.geteuid?.() === 0) throw error
}
