/** A cgroup file system is read and written in small files, and any of them may be missing or forbidden. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, rmdir } from 'node:fs/promises'
import path from 'node:path'

export function readText(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

export const readNumber = (file: string | undefined): number => Number(readText(file) ?? 0) || 0

/** `key value` per line. */
export function readKeys(file: string | undefined): ReadonlyMap<string, number> {
  const keys = new Map<string, number>()
  for (const line of (readText(file) ?? '').split('\n')) {
    const space = line.indexOf(' ')
    if (space > 0) keys.set(line.slice(0, space), Number(line.slice(space + 1)))
  }
  return keys
}

/** False if the kernel has no such file here, or refuses. */
export function write(file: string, value: string | number): boolean {
  try {
    writeFileSync(file, String(value))
    return true
  } catch {
    return false
  }
}

/** By another thread, as the removal: the kernel takes milliseconds for a group. */
export async function makeDirectory(directory: string): Promise<boolean> {
  try {
    await mkdir(directory, { recursive: true })
    return true
  } catch {
    return false
  }
}

/** Removes a group and those below it; true if nothing of it is left. */
export async function removeTree(directory: string): Promise<boolean> {
  await Promise.all(childrenOf(directory).map((child) => removeTree(path.join(directory, child))))
  try {
    await rmdir(directory)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

export function childrenOf(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  } catch {
    return []
  }
}

/** The processes of a group and of those below it. */
export function processesOf(directory: string): number[] {
  const own = (readText(path.join(directory, 'cgroup.procs')) ?? '').split('\n').filter(Boolean).map(Number)
  return own.concat(...childrenOf(directory).map((child) => processesOf(path.join(directory, child))))
}

export function killProcesses(directory: string): void {
  for (const pid of processesOf(directory)) {
    // 0 stands for a process that this PID namespace does not see.
    if (pid <= 0) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
}
