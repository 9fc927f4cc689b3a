/**
 * One layer as it is unpacked, above the layers it stands on. Paths of a tar are followed here component by component, in
 * the view a container will have; a symbolic link leads to a place of the image, never of the host.
 *
 * Overlay's own marks say what a layer hides: a character device 0/0 instead of a file, an attribute on a folder. Where
 * the system forbids these, a layer is `flat`: it begins as a copy of what is below, and what is hidden is removed.
 */
import fs from 'node:fs'
import path from 'node:path'
import { badImage } from '../image-error.ts'
import { type PrivilegedFiles, S_IFCHR } from './privileged-files.ts'

/** A finished layer. */
export interface LowerLayer {
  readonly root: string
  /** Folders that hide what is below, as paths in the image. */
  readonly opaque: ReadonlySet<string>
}

export interface LayerTreeOptions {
  readonly root: string
  /** The topmost first; none for a flat layer. */
  readonly lowers: readonly LowerLayer[]
  readonly flat: boolean
  readonly files: PrivilegedFiles
  /** Of folders that are there already. */
  readonly modes?: ReadonlyMap<string, number>
  /** The attribute that makes a folder opaque: `trusted.overlay.opaque`, or `user.…` without privileges. */
  readonly opaqueAttribute: string
}

/** A folder of the image: its place in this layer, and in those below that shine through. */
interface Folder {
  readonly path: string
  readonly own: string
  lowers: LowerFolder[]
}

interface LowerFolder {
  readonly layer: LowerLayer
  readonly place: string
}

type Below = { readonly kind: 'nothing' } | { readonly kind: 'folder'; readonly lowers: LowerFolder[] } | Leaf

interface Leaf {
  readonly kind: 'leaf'
  readonly place: string
  readonly stat: fs.Stats
}

/** Where an entry goes: its folder exists, by that name or not yet anything. */
export interface Place {
  readonly folder: Folder
  readonly name: string
  /** On the host. */
  readonly file: string
  /** In the image. */
  readonly path: string
}

const MOST_LINKS = 40
const LONGEST_PATH = 4096

export class LayerTree {
  readonly #options: LayerTreeOptions
  readonly #folders = new Map<string, Folder>()
  readonly opaque = new Set<string>()
  /** Modes of folders that no entry has named. They come last: some would forbid us to go on. */
  readonly #modes: Map<string, number>

  constructor(options: LayerTreeOptions) {
    this.#options = options
    this.#modes = new Map(options.modes)
    const { root, lowers } = options
    const below: LowerFolder[] = []
    for (const layer of lowers) {
      below.push({ layer, place: layer.root })
      if (layer.opaque.has('')) break
    }
    this.#folders.set('', { path: '', own: root, lowers: below })
  }

  /** The place an entry of the tar names; undefined for the root itself. Missing folders on the way are made. */
  async place(name: string): Promise<Place | undefined> {
    const parts = partsOf(name)
    const last = parts.pop()
    if (last === undefined) return undefined
    return placeIn(await this.#folder(parts), last)
  }

  /** A folder in this layer, over whatever is there. Returns true if it is new. */
  async makeFolder({ folder, name, file, path: at }: Place): Promise<boolean> {
    const own = lstat(file)
    if (own?.isDirectory()) return false
    const below = this.#below(folder, name)
    if (own) this.remove({ folder, name, file, path: at })
    fs.mkdirSync(file, 0o700)
    // Something else stood here: what a folder below has must not come back.
    if (own && below.kind === 'folder') await this.#makeOpaque(at, file)
    return true
  }

  /** Clears a place of this layer for something that is no folder. */
  remove({ file, path: at }: Place): void {
    const own = lstat(file)
    if (!own) return
    if (!own.isDirectory()) {
      fs.unlinkSync(file)
      return
    }
    fs.rmSync(file, { recursive: true, force: true })
    for (const known of [...this.#folders.keys()])
      if (known === at || known.startsWith(`${at}/`)) this.#folders.delete(known)
    for (const known of [...this.opaque]) if (known === at || known.startsWith(`${at}/`)) this.opaque.delete(known)
  }

  /** `.wh.name`: what layers below have by that name is gone. `isOurs` tells what this very layer has brought. */
  async hide({ folder, name, file, path: at }: Place, isOurs: (path: string) => boolean): Promise<void> {
    const own = lstat(file)
    if (this.#options.flat) {
      if (own && !isOurs(at)) this.remove({ folder, name, file, path: at })
      return
    }
    const below = this.#below(folder, name)
    if (below.kind === 'nothing') return
    if (!own) await this.#options.files.mknod(file, S_IFCHR, 0, 0)
    else if (own.isDirectory()) await this.#makeOpaque(at, file)
  }

  /** `.wh..wh..opq`: nothing that layers below have in this folder. */
  async hideAll(folder: Folder, isOurs: (path: string) => boolean): Promise<void> {
    if (!this.#options.flat) {
      if (folder.lowers.length > 0) await this.#makeOpaque(folder.path, folder.own)
      return
    }
    for (const name of fs.readdirSync(folder.own)) {
      const place = placeIn(folder, name)
      if (!isOurs(place.path)) this.remove(place)
    }
  }

  /** A file that exists in the image, in this layer: one that is only below is copied up. For hard links. */
  async present(name: string): Promise<string> {
    const place = await this.place(name)
    const own = place && lstat(place.file)
    if (own?.isDirectory() || !place) throw badImage(`a hard link to the folder ${JSON.stringify(name)}`)
    if (own && !isWhiteout(own)) return place.file
    const below = own ? undefined : this.#below(place.folder, place.name)
    if (below?.kind !== 'leaf' || !(below.stat.isFile() || below.stat.isSymbolicLink()))
      throw badImage(`a hard link to ${JSON.stringify(name)}, which is no file`)
    copyUp(below, place.file)
    return place.file
  }

  finish(): void {
    for (const [folder, mode] of this.#modes) if (lstat(folder)?.isDirectory()) fs.chmodSync(folder, mode)
  }

  async #folder(parts: readonly string[]): Promise<Folder> {
    let folder = this.#folders.get('')!
    let links = 0
    const left = [...parts].reverse()
    while (left.length > 0) {
      const name = left.pop()!
      if (name === '..') {
        folder = this.#folders.get(parentOf(folder.path))!
        continue
      }
      const next = await this.#enter(folder, name)
      if (typeof next !== 'string') {
        folder = next
        continue
      }
      if (++links > MOST_LINKS) throw badImage(`too many symbolic links in ${JSON.stringify(parts.join('/'))}`)
      if (next.startsWith('/')) folder = this.#folders.get('')!
      // Here `..` stays: the root is its own parent, as in every container.
      left.push(
        ...next
          .split('/')
          .filter((part) => part !== '' && part !== '.')
          .reverse(),
      )
    }
    return folder
  }

  /** The folder by that name, made if need be, or the text of a symbolic link. */
  async #enter(folder: Folder, name: string): Promise<Folder | string> {
    const place = placeIn(folder, name)
    const known = this.#folders.get(place.path)
    if (known) return known
    const own = lstat(place.file)
    if (own?.isSymbolicLink()) return fs.readlinkSync(place.file)
    const isHidden = own !== undefined && isWhiteout(own)
    if (own && !own.isDirectory() && !isHidden) throw badImage(`${JSON.stringify(place.path)} is no folder`)
    const below = this.#below(folder, name)
    if (!own && below.kind === 'leaf') {
      if (below.stat.isSymbolicLink()) return fs.readlinkSync(below.place)
      throw badImage(`${JSON.stringify(place.path)} is no folder`)
    }
    if (!own || isHidden) await this.#makeImplied(place, below)
    const isOpaque = this.opaque.has(place.path)
    const entered = {
      path: place.path,
      own: place.file,
      lowers: below.kind === 'folder' && !isOpaque ? below.lowers : [],
    }
    this.#folders.set(place.path, entered)
    return entered
  }

  /** A folder that no entry has named is like the one below, if there is one. */
  async #makeImplied(place: Place, below: Below): Promise<void> {
    const isNew = lstat(place.file) === undefined
    await this.makeFolder(place)
    const lower = below.kind === 'folder' ? below.lowers[0] : undefined
    if (!lower || !isNew) {
      fs.chmodSync(place.file, 0o755)
      return
    }
    const { uid, gid, mode } = fs.lstatSync(lower.place)
    chownSoftly(place.file, uid, gid)
    this.#modes.set(place.file, mode & 0o7777)
  }

  async #makeOpaque(at: string, file: string): Promise<void> {
    const { files, opaqueAttribute, flat } = this.#options
    if (flat) return
    await files.setxattr(file, opaqueAttribute, Buffer.from('y'))
    this.opaque.add(at)
    const known = this.#folders.get(at)
    if (known) known.lowers = []
    for (const inner of [...this.#folders.keys()])
      if (inner.startsWith(at === '' ? '' : `${at}/`) && inner !== at) this.#folders.delete(inner)
  }

  #below(folder: Folder, name: string): Below {
    const lowers: LowerFolder[] = []
    for (const { layer, place } of folder.lowers) {
      const file = `${place}/${name}`
      const stat = lstat(file)
      if (!stat) continue
      if (!stat.isDirectory()) {
        if (lowers.length > 0 || isWhiteout(stat)) break
        return { kind: 'leaf', place: file, stat }
      }
      lowers.push({ layer, place: file })
      if (layer.opaque.has(pathIn(folder, name))) break
    }
    return lowers.length > 0 ? { kind: 'folder', lowers } : { kind: 'nothing' }
  }
}

/** Without `.` and empty parts; a name that leads out of the image is refused, an absolute one begins at its root. */
export function partsOf(name: string): string[] {
  if (name.includes('\0')) throw badImage('a tar entry has a name with a NUL')
  if (name.length > LONGEST_PATH) throw badImage(`a tar entry has a name of ${name.length} characters`)
  const clean = path.posix.normalize(name)
  if (clean === '..' || clean.startsWith('../'))
    throw badImage(`the tar entry ${JSON.stringify(name)} leads out of the image`)
  return clean.split('/').filter((part) => part !== '' && part !== '.')
}

const pathIn = (folder: { readonly path: string }, name: string) =>
  folder.path === '' ? name : `${folder.path}/${name}`
const placeIn = (folder: Folder, name: string): Place => ({
  folder,
  name,
  file: `${folder.own}/${name}`,
  path: pathIn(folder, name),
})
const parentOf = (at: string) => at.slice(0, Math.max(0, at.lastIndexOf('/')))
const lstat = (file: string) => fs.lstatSync(file, { throwIfNoEntry: false })
const isWhiteout = (stat: fs.Stats) => stat.isCharacterDevice() && stat.rdev === 0

function copyUp({ place, stat }: Leaf, to: string): void {
  if (stat.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(place), to)
  else fs.copyFileSync(place, to, fs.constants.COPYFILE_EXCL)
  chownSoftly(to, stat.uid, stat.gid)
  if (!stat.isSymbolicLink()) fs.chmodSync(to, stat.mode & 0o7777)
  fs.lutimesSync(to, stat.atime, stat.mtime)
}

/** Ids that a user namespace does not have cannot be given. */
export function chownSoftly(file: string, uid: number, gid: number): void {
  try {
    fs.lchownSync(file, uid, gid)
  } catch (error) {
    if (!['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
