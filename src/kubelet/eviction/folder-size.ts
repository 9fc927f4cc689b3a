import { lstat, opendir } from 'node:fs/promises'
import path from 'node:path'

const BLOCK = 512

/** Bytes on disk below a folder, links not followed, other filesystems not entered. */
export async function folderSize(folder: string): Promise<number> {
  const top = await lstat(folder).catch(() => undefined)
  if (!top) return 0
  let total = 0
  const waiting = [folder]
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    const found = await lstat(current).catch(() => undefined)
    if (!found || found.dev !== top.dev) continue
    total += found.blocks * BLOCK
    if (!found.isDirectory()) continue
    const entries = await opendir(current).catch(() => undefined)
    if (entries) for await (const { name } of entries) waiting.push(path.join(current, name))
  }
  return total
}
