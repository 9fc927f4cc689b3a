import { randomUUID } from 'node:crypto'
import { promises, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ATTEMPTS = 5

/**
 * Takes `lock` in the directory for this process, or over from a process that is dead.
 * The file appears by link(2) with its content complete, so that nobody ever reads half of it.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const lock = join(directory, 'lock')
  const mine = join(directory, `lock.${randomUUID()}.tmp`)
  const owner = `${process.pid} ${startTimeOf(process.pid) ?? ''} ${randomUUID()}\n`
  await promises.writeFile(mine, owner, { mode: 0o600 })
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (await linked(mine, lock)) return () => release(lock, owner)
      await removeIfStale(directory, lock)
    }
  } finally {
    await promises.rm(mine, { force: true })
  }
  throw new Error(`cannot lock ${directory}: other processes keep taking ${lock}`)
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await promises.link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function removeIfStale(directory: string, lock: string): Promise<void> {
  const owner = await contentOf(lock)
  if (owner === undefined) return
  const [pid = '', startTime = ''] = owner.split(/\s+/)
  if (isRunning(Number(pid), startTime)) {
    throw new Error(`the store in ${directory} is in use by process ${pid} (${lock})`)
  }
  // Moved away first: what was moved can be checked, so another process' fresh lock is put back.
  const moved = `${lock}.${randomUUID()}.tmp`
  try {
    await promises.rename(lock, moved)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if ((await contentOf(moved)) !== owner) await linked(moved, lock)
  await promises.rm(moved, { force: true })
}

async function release(lock: string, owner: string): Promise<void> {
  if ((await contentOf(lock)) === owner) await promises.rm(lock, { force: true })
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await promises.readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function isRunning(pid: number, startTime: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Not ours to signal, but there.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const now = startTimeOf(pid)
  // The same number with another start time is another process; a zombie has let go of its files.
  return now === undefined || now === startTime
}

/** The kernel's start time of a process, which with its number names it for good; undefined where there is no /proc. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? 'zombie' : fields[19]
  } catch {
    return undefined
  }
}
