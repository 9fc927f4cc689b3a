import { Folder } from '../../../linux/folder.ts'
import { ownerSoftly } from '../unpack/privileged-files.ts'

/**
 * A copy of a tree whose files are the same ones by another name; folders are new and look alike, but for modes that
 * would keep their owner out: these are returned, for later, by the paths of the folders.
 */
export function linkTree(from: string, to: string): Map<string, number> {
  using source = Folder.open(from)
  using target = Folder.open(to)
  const folders = ['.']
  for (let i = 0; i < folders.length; i++) folders.push(...linkFolder(source, target, folders[i]!))
  const modes = new Map<string, number>()
  // Each new name changes the time of its folder, and a mode may keep us out: so when all are made.
  for (const path of folders.reverse()) {
    using folder = target.folder(path)
    using original = source.folder(path)
    const { uid, gid, mode: all, atime, mtime } = original.ownStat()
    const mode = all & 0o7777
    ownerSoftly(() => folder.setOwnOwner(uid, gid))
    folder.setOwnMode(mode | 0o700)
    if ((mode & 0o700) !== 0o700) modes.set(path === '.' ? '' : path, mode)
    folder.setOwnTimes(atime.getTime() / 1000, mtime.getTime() / 1000)
  }
  return modes
}

/** Returns the folders in it. */
function linkFolder(source: Folder, target: Folder, path: string): string[] {
  using from = source.folder(path)
  using to = target.folder(path)
  const inner: string[] = []
  for (const name of from.names()) {
    if (from.stat(name)!.isDirectory()) {
      to.makeFolder(name, 0o700)
      inner.push(path === '.' ? name : `${path}/${name}`)
    } else to.link(from, name, name)
  }
  return inner
}
