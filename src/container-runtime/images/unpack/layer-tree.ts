/**
 * One layer as it is unpacked, above the layers it stands on. Paths of a tar are followed here component by component, in
 * the view a container will have; a symbolic link leads to a place of the image, never of the host. The result is a
 * folder by its real path, which the kernel opens without following any link, and a name in it.
 *
 * Overlay's own marks say what a layer hides: a character device 0/0 instead of a file, an attribute on a folder. Where
 * the system forbids these, a layer is `flat`: it begins as a copy of what is below, and what is hidden is removed.
 */
import fs from 'node:fs'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { entryOf } from '../../../linux/beneath.ts'
import { Folder } from '../../../linux/folder.ts'
import { hasCode } from '../../../linux/system-error.ts'
import { badImage } from '../image-error.ts'
import { copyUp } from './copy-up.ts'
import { LayerFolder, type LowerLayer, OpenFolders } from './layer-folder.ts'
import { ownerSoftly, type PrivilegedFiles, S_IFCHR } from './privileged-files.ts'

export interface LayerTreeOptions {
  readonly root: string
  /** A folder of the same file system, for what was removed: it is deleted when there is time. */
  readonly removed: string
  /** The topmost first; none for a flat layer. */
  readonly lowers: readonly { readonly root: string; readonly opaque: ReadonlySet<string> }[]
  readonly flat: boolean
  readonly files: PrivilegedFiles
  /** Of folders that a flat layer begins with, by their paths in the image. */
  readonly modes?: ReadonlyMap<string, number>
  /** The attribute that makes a folder opaque: `trusted.overlay.opaque`, or `user.…` without privileges. */
  readonly opaqueAttribute: string
}

type Below =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'folder'; readonly lowers: readonly LowerLayer[] }
  | { readonly kind: 'leaf'; readonly layer: LowerLayer; readonly stat: fs.Stats }

/** Where an entry goes: its folder exists, by that name or not yet anything. */
export interface Place {
  readonly folder: LayerFolder
  readonly name: string
}

const MOST_LINKS = 40
const LONGEST_PATH = 4096
/** Components that links may make of one path. */
const MOST_STEPS = 1024
const FOLDERS_PER_TURN = 256

export class LayerTree implements Disposable {
  readonly #options: LayerTreeOptions
  readonly #open: OpenFolders
  readonly #removed: Folder
  readonly #lowers: readonly LowerLayer[]
  #removals = 0
  readonly root: LayerFolder

  constructor(options: LayerTreeOptions) {
    const { root, removed, lowers, modes = [] } = options
    this.#options = options
    this.#open = new OpenFolders(root)
    this.#removed = Folder.open(removed)
    const hides = lowers.findIndex(({ opaque }) => opaque.has(''))
    const seen = hides < 0 ? lowers : lowers.slice(0, hides + 1)
    this.#lowers = seen.map((lower) => ({ root: Folder.open(lower.root), opaque: lower.opaque }))
    this.root = new LayerFolder('', undefined, this.#lowers)
    for (const [at, mode] of modes) this.#known(at).attributes = { mode }
  }

  /** The place an entry of the tar names; undefined for the root itself. Missing folders on the way are made. */
  async place(name: string): Promise<Place | undefined> {
    const parts = partsOf(name)
    const last = parts.pop()
    if (last === undefined) return undefined
    const folder = await this.#folder(parts)
    if (folder.path.length + last.length >= LONGEST_PATH) throw badImage(`${JSON.stringify(name)} is nested too deeply`)
    return { folder, name: last }
  }

  /** The open folder of a place, until the next one is asked for. */
  opened({ folder }: Place): Folder {
    return this.#open.get(folder)
  }

  stat(place: Place): fs.Stats | undefined {
    return this.opened(place).stat(place.name)
  }

  /** A folder in this layer, over whatever is there. */
  async makeFolder(place: Place): Promise<LayerFolder> {
    const { folder, name } = place
    const own = this.stat(place)
    if (own?.isDirectory()) return folder.children.get(name) ?? this.#add(place, this.#below(place))
    const below = this.#below(place)
    if (own) this.remove(place)
    this.opened(place).makeFolder(name, 0o700)
    const made = this.#add(place, below)
    // Something else stood here: what a folder below has must not come back.
    if (own && below.kind === 'folder') await this.#makeOpaque(made)
    return made
  }

  /** Clears a place of this layer for something else. */
  remove(place: Place): void {
    const { folder, name } = place
    const opened = this.opened(place)
    try {
      opened.unlink(name)
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return
      if (!hasCode(error, 'EISDIR')) throw error
      // Whatever is in it, this takes a moment only.
      opened.setMode(name, 0o700)
      const aside = entryOf(this.#removed.descriptor, String(++this.#removals))
      fs.renameSync(entryOf(opened.descriptor, name), aside)
      folder.children.delete(name)
    }
  }

  /** `.wh.name`: what layers below have by that name is gone. */
  async hide(place: Place): Promise<void> {
    const { folder, name } = place
    const own = this.stat(place)
    if (this.#options.flat) {
      if (own && !folder.brought.has(name)) this.remove(place)
      return
    }
    const below = this.#below(place)
    if (below.kind === 'nothing') return
    if (!own) await this.#options.files.mknod(this.opened(place).pathForOthers(name), S_IFCHR, 0, 0)
    else if (own.isDirectory()) await this.#makeOpaque(folder.children.get(name) ?? this.#add(place, below))
  }

  /** `.wh..wh..opq`: nothing that layers below have in this folder. */
  async hideAll(folder: LayerFolder): Promise<void> {
    if (!this.#options.flat) {
      if (folder.lowers.length > 0) await this.#makeOpaque(folder)
      return
    }
    for (const name of this.#open.get(folder).names()) if (!folder.brought.has(name)) this.remove({ folder, name })
  }

  /** A file that exists in the image, in this layer: one that is only below is copied up. For hard links. */
  async present(name: string): Promise<Place> {
    const place = await this.place(name)
    const own = place && this.stat(place)
    if (own?.isDirectory() || !place) throw badImage(`a hard link to the folder ${JSON.stringify(name)}`)
    if (own && !isWhiteout(own)) return place
    const below = own ? undefined : this.#below(place)
    if (below?.kind !== 'leaf' || !(below.stat.isFile() || below.stat.isSymbolicLink()))
      throw badImage(`a hard link to ${JSON.stringify(name)}, which is no file`)
    copyUp(below.layer.root, place.folder.pathOf(place.name), below.stat, this.opened(place), place.name)
    return place
  }

  /** Folders that hide what is below, as paths in the image. */
  opaque(): string[] {
    return this.root
      .all()
      .filter(({ isOpaque }) => isOpaque)
      .map((folder) => folder.path)
  }

  /** Gives the folders that are still there their attributes. */
  async finish(): Promise<void> {
    for (const [i, folder] of this.root.all().entries()) {
      if (i % FOLDERS_PER_TURN === FOLDERS_PER_TURN - 1) await nextTurn()
      const { uid = -1, gid = -1, mode, mtime } = folder.attributes ?? {}
      if (mode === undefined) continue
      const opened = this.#open.get(folder)
      ownerSoftly(() => opened.setOwnOwner(uid, gid))
      opened.setOwnMode(mode)
      if (mtime !== undefined) opened.setOwnTimes(mtime, mtime)
    }
  }

  [Symbol.dispose](): void {
    this.#open[Symbol.dispose]()
    this.#removed[Symbol.dispose]()
    for (const { root } of this.#lowers) root[Symbol.dispose]()
  }

  async #folder(parts: readonly string[]): Promise<LayerFolder> {
    let folder = this.root
    let links = 0
    let steps = 0
    const left = [...parts].reverse()
    while (left.length > 0) {
      const name = left.pop()!
      if (name === '..') {
        folder = folder.parent ?? folder
        continue
      }
      const next = await this.#enter({ folder, name })
      if (typeof next !== 'string') {
        folder = next
        continue
      }
      const more = next.split('/').filter((part) => part !== '' && part !== '.')
      steps += more.length
      if (++links > MOST_LINKS || steps > MOST_STEPS)
        throw badImage(`too many symbolic links in ${JSON.stringify(parts.join('/'))}`)
      if (next.startsWith('/')) folder = this.root
      // Here `..` stays: the root is its own parent, as in every container.
      left.push(...more.reverse())
    }
    return folder
  }

  /** The folder at this place, made if need be, or the text of a symbolic link. */
  async #enter(place: Place): Promise<LayerFolder | string> {
    const { folder, name } = place
    const known = folder.children.get(name)
    if (known) return known
    const own = this.stat(place)
    if (own?.isSymbolicLink()) return this.opened(place).readLink(name)
    const isHidden = own !== undefined && isWhiteout(own)
    if (own && !own.isDirectory() && !isHidden) throw badImage(`${JSON.stringify(folder.pathOf(name))} is no folder`)
    const below = this.#below(place)
    if (!own && below.kind === 'leaf') {
      if (below.stat.isSymbolicLink()) return below.layer.root.readLink(folder.pathOf(name))
      throw badImage(`${JSON.stringify(folder.pathOf(name))} is no folder`)
    }
    return own && !isHidden ? this.#add(place, below) : this.#makeImplied(place, below)
  }

  /** A folder that no entry has named is like the one below, if there is one. */
  async #makeImplied(place: Place, below: Below): Promise<LayerFolder> {
    const isNew = this.stat(place) === undefined
    const made = await this.makeFolder(place)
    const lower = below.kind === 'folder' && isNew ? below.lowers[0]?.root.stat(made.path) : undefined
    made.attributes = lower ? { uid: lower.uid, gid: lower.gid, mode: lower.mode & 0o7777 } : { mode: 0o755 }
    return made
  }

  #known(at: string): LayerFolder {
    let folder = this.root
    for (const name of at.split('/').filter(Boolean))
      folder = folder.children.get(name) ?? this.#add({ folder, name }, { kind: 'nothing' })
    return folder
  }

  #add({ folder, name }: Place, below: Below): LayerFolder {
    const at = folder.pathOf(name)
    if (at.length >= LONGEST_PATH) throw badImage(`${JSON.stringify(at)} is nested too deeply`)
    const added = new LayerFolder(at, folder, below.kind === 'folder' ? below.lowers : [])
    folder.children.set(name, added)
    return added
  }

  async #makeOpaque(folder: LayerFolder): Promise<void> {
    const { files, opaqueAttribute, flat } = this.#options
    if (flat || folder.isOpaque) return
    await files.setxattr(this.#open.get(folder).pathForOthers(), opaqueAttribute, Buffer.from('y'))
    folder.isOpaque = true
    folder.hideBelow()
  }

  #below({ folder, name }: Place): Below {
    const at = folder.pathOf(name)
    const lowers: LowerLayer[] = []
    for (const layer of folder.lowers) {
      const stat = layer.root.stat(at)
      if (!stat) continue
      if (!stat.isDirectory()) {
        if (lowers.length > 0 || isWhiteout(stat)) break
        return { kind: 'leaf', layer, stat }
      }
      lowers.push(layer)
      if (layer.opaque.has(at)) break
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

const isWhiteout = (stat: fs.Stats) => stat.isCharacterDevice() && stat.rdev === 0
