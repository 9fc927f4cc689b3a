/** A file that names the one process which owns something: a data directory, a node. */
import { link, mkdir, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { processStartTime } from './process-identity.ts'

export interface ProcessRecord {
  readonly pid: number
  readonly startTime: string
}

export const thisProcess = (): ProcessRecord => ({
  pid: process.pid,
  startTime: processStartTime(process.pid) ?? '',
})

export const isAlive = ({ pid, startTime }: ProcessRecord) =>
  Number.isInteger(pid) && pid > 0 && processStartTime(pid) === startTime

/** The live owner; a file left by a dead one counts for nothing. */
export async function findOwner<T extends ProcessRecord>(path: string): Promise<T | undefined> {
  const owner = await readJson<T>(path)
  return owner && isAlive(owner) ? owner : undefined
}

/**
 * Enters a process as the owner, or returns the live one that has it. The file appears whole or not at all, and only one
 * of two claimants gets it.
 */
export async function claim<T extends ProcessRecord>(path: string, record: T): Promise<T | undefined> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await sweep(path)
  const draft = `${path}.${process.pid}`
  await writeFile(draft, JSON.stringify(record), { mode: 0o600 })
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        await link(draft, path)
        return undefined
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt === 3) throw error
      }
      const other = (await findOwner<T>(path)) ?? (await setAside<T>(path))
      if (other) return other
    }
  } finally {
    await unlink(draft).catch(() => {})
  }
}

/** What claimants left that died in the middle. The claim of a live process that one of them had set aside goes back. */
async function sweep(path: string): Promise<void> {
  const folder = dirname(path)
  const prefix = `${basename(path)}.`
  for (const name of await readdir(folder)) {
    const [, old, pid] = (name.startsWith(prefix) && /^(old\.)?(\d+)$/.exec(name.slice(prefix.length))) || []
    if (!pid || processStartTime(Number(pid)) !== undefined) continue
    const file = join(folder, name)
    if (old && (await findOwner(file))) await link(file, path).catch(() => {})
    await rm(file, { force: true })
  }
}

/** Takes a dead owner's claim away. If another claimant was faster, its claim goes back to its place, and is returned. */
async function setAside<T extends ProcessRecord>(path: string): Promise<T | undefined> {
  const aside = `${path}.old.${process.pid}`
  try {
    await rename(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const owner = await findOwner<T>(aside)
  if (owner) await link(aside, path).catch(() => {})
  await unlink(aside)
  return owner
}

/** Removes the claim if it is of this process or of one that is gone. */
export async function release(path: string, pid: number): Promise<void> {
  const owner = await readJson<ProcessRecord>(path)
  if (owner && (owner.pid === pid || !isAlive(owner))) await rm(path, { force: true })
}

/** Undefined if the file is missing or was never finished. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
