import { readFile, stat } from 'node:fs/promises'
import type { Clock } from './clock.ts'

/** Where new versions of something come from while the first one is in use. One is taken at a time. */
export type Changes<T> = (take: (next: T) => Promise<void>, signal: AbortSignal) => void

const POLL_MS = 1000

/**
 * Tells when a file has new content. Looks every second: what is mounted or replaced by a rename is not told by all
 * systems. `first` is the content that is in use already. What cannot be read is looked at again; `failed` is told once
 * for each reason.
 */
export function fileChanges<T>(
  path: string,
  first: string,
  read: (text: string) => T | Promise<T>,
  clock: Clock,
  failed: (error: unknown) => void,
): Changes<T> {
  return (take, signal) => {
    void follow({ path, first, clock, failed }, async (text) => take(await read(text)), signal)
  }
}

interface FollowedFile {
  readonly path: string
  readonly first: string
  readonly clock: Clock
  readonly failed: (error: unknown) => void
}

async function follow(
  { path, first, clock, failed }: FollowedFile,
  take: (text: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let seen: string | undefined
  let content = first
  let reason = ''
  while (!signal.aborted) {
    try {
      const mark = await markOf(path)
      if (mark !== seen) {
        const text = await readFile(path, 'utf8')
        const isNew = text !== content
        content = text
        if (isNew) await take(text)
        seen = mark
        reason = ''
      }
    } catch (error) {
      if (String(error) !== reason) failed(error)
      reason = String(error)
    }
    await nextLook(clock, signal)
  }
}

async function markOf(path: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(path)
  return `${ino} ${size} ${mtimeMs}`
}

/** Nobody is kept alive by this. */
function nextLook(clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(POLL_MS, done).unref()
    function done() {
      signal.removeEventListener('abort', done)
      timer.cancel()
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
  })
}
