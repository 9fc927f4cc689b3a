import fs from 'node:fs'
import path from 'node:path'
import { chownSoftly } from '../unpack/layer-tree.ts'

/**
 * A copy of a tree whose files are the same ones by another name; folders are new and look alike, but for modes that
 * would keep their owner out: these are returned, for later.
 */
export function linkTree(from: string, to: string, modes = new Map<string, number>()): Map<string, number> {
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)]
    if (!entry.isDirectory()) {
      fs.linkSync(source, target)
      continue
    }
    fs.mkdirSync(target, 0o700)
    linkTree(source, target, modes)
  }
  const stat = fs.lstatSync(from)
  chownSoftly(to, stat.uid, stat.gid)
  const mode = stat.mode & 0o7777
  fs.chmodSync(to, mode | 0o700)
  if ((mode & 0o700) !== 0o700) modes.set(to, mode)
  fs.utimesSync(to, stat.atime, stat.mtime)
  return modes
}
