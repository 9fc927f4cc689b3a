/** An open folder on the node's own disk: what is in it is named by one component, and no link is followed. */
import fs from 'node:fs'
import { checkedName, entryOf, O_FOLDER, O_PLACE, Opened, openBeneathNow, openFolderNow } from './beneath.ts'
import { fileCalls } from './ffi.ts'
import { O, O_NOFOLLOW } from './mounts.ts'
import { checked, hasCode } from './system-error.ts'

const AT_REMOVEDIR = 0x200
const O_EXCL = fs.constants.O_EXCL

export class Folder implements Disposable {
  readonly #opened: Opened

  constructor(opened: Opened) {
    this.#opened = opened
  }

  /** By a path that only the node or its administrator controls. */
  static open(path: string): Folder {
    return new Folder(openFolderNow(path))
  }

  get descriptor(): number {
    return this.#opened.descriptor
  }

  /** Beneath this one, through folders only. */
  folder(path: string): Folder {
    return new Folder(openBeneathNow(this.descriptor, path, { flags: O_FOLDER }))
  }

  /** Of the entry itself. Undefined where there is none, or where a folder on the way is none. */
  stat(path: string): fs.Stats | undefined {
    if (!path.includes('/')) return fs.lstatSync(entryOf(this.descriptor, path), { throwIfNoEntry: false })
    try {
      using place = this.#place(path)
      return fs.fstatSync(place.descriptor)
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
      throw error
    }
  }

  ownStat(): fs.Stats {
    return fs.fstatSync(this.descriptor)
  }

  /** The text of a symbolic link. */
  readLink(path: string): string {
    const slash = path.lastIndexOf('/')
    if (slash < 0) return fs.readlinkSync(entryOf(this.descriptor, path))
    using parent = this.folder(path.slice(0, slash))
    return parent.readLink(path.slice(slash + 1))
  }

  names(): string[] {
    return fs.readdirSync(this.#opened.path)
  }

  makeFolder(name: string, mode: number): void {
    checked(fileCalls().mkdirat(this.descriptor, checkedName(name), mode), `mkdir ${name}`)
  }

  /** A new file, open for writing. */
  create(name: string, mode: number): Opened {
    const flags = O.WRONLY | O.CREAT | O.CLOEXEC | O_EXCL | O_NOFOLLOW
    return new Opened(checked(fileCalls().openat(this.descriptor, checkedName(name), flags, mode), `create ${name}`))
  }

  makeLink(text: string, name: string): void {
    checked(fileCalls().symlinkat(text, this.descriptor, checkedName(name)), `symlink ${name}`)
  }

  /** Another name for what is `fromName` in `from`, also for a symbolic link itself. */
  link(from: Folder, fromName: string, name: string): void {
    const result = fileCalls().linkat(from.descriptor, checkedName(fromName), this.descriptor, checkedName(name))
    checked(result, `link ${name}`)
  }

  /** Not a folder. */
  unlink(name: string): void {
    checked(fileCalls().unlinkat(this.descriptor, checkedName(name), 0), `unlink ${name}`)
  }

  /** An empty folder. */
  removeFolder(name: string): void {
    checked(fileCalls().unlinkat(this.descriptor, checkedName(name), AT_REMOVEDIR), `rmdir ${name}`)
  }

  setOwner(name: string, uid: number, gid: number): void {
    checked(fileCalls().lchownat(this.descriptor, checkedName(name), uid, gid), `chown ${name}`)
  }

  setTimes(name: string, accessed: number, modified: number): void {
    fs.lutimesSync(entryOf(this.descriptor, name), accessed, modified)
  }

  /** Not of a symbolic link, which has none. */
  setMode(name: string, mode: number): void {
    using place = this.#place(name)
    if (fs.fstatSync(place.descriptor).isSymbolicLink()) throw new Error(`${name} has become a symbolic link`)
    fs.chmodSync(place.path, mode)
  }

  setOwnOwner(uid: number, gid: number): void {
    fs.chownSync(this.#opened.path, uid, gid)
  }

  setOwnMode(mode: number): void {
    fs.chmodSync(this.#opened.path, mode)
  }

  setOwnTimes(accessed: number, modified: number): void {
    fs.utimesSync(this.#opened.path, accessed, modified)
  }

  /** An entry, or the folder itself, for another process of this user and a call that does not follow a last link. */
  pathForOthers(name?: string): string {
    return `${this.#opened.pathForOthers}/${name === undefined ? '.' : checkedName(name)}`
  }

  [Symbol.dispose](): void {
    this.#opened[Symbol.dispose]()
  }

  #place(path: string): Opened {
    return openBeneathNow(this.descriptor, path, { flags: O_PLACE | O_NOFOLLOW })
  }
}
