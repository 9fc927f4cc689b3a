import fs from 'node:fs'
import path from 'node:path'
import { chownSoftly } from '../unpack/layer-tree.ts'

/** A copy of a tree whose files are the same ones by another name; folders are new and look alike. */
export function linkTree(from: string, to: string): void {
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)]
    if (!entry.isDirectory()) {
      fs.linkSync(source, target)
      continue
    }
    fs.mkdirSync(target, 0o700)
    linkTree(source, target)
  }
  const stat = fs.lstatSync(from)
  chownSoftly(to, stat.uid, stat.gid)
  // Its owner must be able to go on unpacking.
  fs.chmodSync(to, (stat.mode & 0o7777) | 0o700)
  fs.utimesSync(to, stat.atime, stat.mtime)
}
