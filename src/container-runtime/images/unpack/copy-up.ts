import fs from 'node:fs'
import { entryOf, O_PLACE, openBeneathNow } from '../../../linux/beneath.ts'
import type { Folder } from '../../../linux/folder.ts'
import { ownerSoftly } from './privileged-files.ts'

/** A file or a link of a layer below, as `name` in a folder of this one. */
export function copyUp(lower: Folder, path: string, stat: fs.Stats, to: Folder, name: string): void {
  if (stat.isSymbolicLink()) to.makeLink(lower.readLink(path), name)
  else {
    using file = openBeneathNow(lower.descriptor, path, { flags: O_PLACE })
    fs.copyFileSync(file.path, entryOf(to.descriptor, name), fs.constants.COPYFILE_EXCL)
  }
  ownerSoftly(() => to.setOwner(name, stat.uid, stat.gid))
  if (!stat.isSymbolicLink()) to.setMode(name, stat.mode & 0o7777)
  to.setTimes(name, stat.atimeMs / 1000, stat.mtimeMs / 1000)
}
