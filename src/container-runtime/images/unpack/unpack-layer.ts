/** A tar becomes a folder. Its author is not trusted: every path goes through the tree, and everything has a limit. */
import fs from 'node:fs'
import { badImage } from '../image-error.ts'
import type { ImageLimits } from '../limits.ts'
import type { TarEntry, Xattr } from './extended-header.ts'
import { chownSoftly, type LayerTree, type Place } from './layer-tree.ts'
import { notPermitted, type PrivilegedFiles, S_IFBLK, S_IFCHR, S_IFIFO } from './privileged-files.ts'
import { TarReader } from './tar-reader.ts'

export interface UnpackOptions {
  readonly tree: LayerTree
  /** The folder that becomes the layer. */
  readonly root: string
  readonly files: PrivilegedFiles
  readonly limits: ImageLimits
}

export interface Unpacked {
  readonly bytes: number
  readonly entries: number
}

export async function unpackLayer(tar: AsyncIterable<Buffer>, options: UnpackOptions): Promise<Unpacked> {
  const reader = new TarReader(options.limits.headerBytes)
  const unpacker = new Unpacker(options)
  try {
    for await (const chunk of tar) {
      reader.push(chunk)
      for (let event = reader.next(); event; event = reader.next()) {
        if (event.type === 'data') unpacker.data(event.bytes)
        else if (event.type === 'end') unpacker.end()
        else await unpacker.begin(event.entry)
        if (unpacker.afterwards) await unpacker.attributes()
      }
    }
    reader.finish()
    unpacker.finish()
    return { bytes: unpacker.bytes, entries: unpacker.entries }
  } finally {
    unpacker.close()
  }
}

const WHITEOUT = '.wh.'
const OPAQUE = '.wh..wh..opq'
const HIGHEST_ID = 2 ** 32 - 2
const NODE_KINDS: Readonly<Record<string, number>> = { 3: S_IFCHR, 4: S_IFBLK, 6: S_IFIFO }

class Unpacker {
  readonly #options: UnpackOptions
  /** The file that data goes to. */
  #file: { readonly entry: TarEntry; readonly path: string; readonly descriptor: number } | undefined
  /** Folders are finished last: what they may forbid, and their times, must not be in the way. */
  readonly #folders = new Map<string, TarEntry>()
  readonly #ours = new Set<string>()
  afterwards: { readonly path: string; readonly xattrs: readonly Xattr[] } | undefined
  bytes = 0
  entries = 0

  constructor(options: UnpackOptions) {
    this.#options = options
  }

  async begin(entry: TarEntry): Promise<void> {
    const { tree, limits } = this.#options
    if (++this.entries > limits.layerEntries) throw badImage(`a layer of more than ${limits.layerEntries} files`)
    if (![entry.uid, entry.gid].every((id) => Number.isInteger(id) && id >= 0 && id <= HIGHEST_ID))
      throw badImage(`${JSON.stringify(entry.name)} has an owner that cannot be`)
    const place = await tree.place(entry.name)
    if (!place) return this.#root(entry)
    if (place.name.startsWith(WHITEOUT)) return this.#whiteout(place)
    this.#ours.add(place.path)
    await this.#make(entry, place)
  }

  data(bytes: Buffer): void {
    this.bytes += bytes.length
    const { layerBytes } = this.#options.limits
    if (this.bytes > layerBytes) throw badImage(`a layer of more than ${layerBytes} bytes`)
    if (!this.#file) return
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(this.#file.descriptor, bytes, at)
  }

  end(): void {
    const file = this.#file
    if (!file) return
    const { entry, descriptor } = file
    this.#file = undefined
    try {
      fchownSoftly(descriptor, entry)
      fs.fchmodSync(descriptor, entry.mode)
      fs.futimesSync(descriptor, entry.mtime, entry.mtime)
    } finally {
      fs.closeSync(descriptor)
    }
    this.#withAttributes(entry, file.path)
  }

  /** The attributes of the entry that has just ended; changing the owner would have taken capabilities away. */
  async attributes(): Promise<void> {
    const { path, xattrs } = this.afterwards!
    this.afterwards = undefined
    for (const { name, value } of xattrs) {
      if (!isAllowed(name)) continue
      await this.#options.files.setxattr(path, name, value).catch((error) => {
        if (!notPermitted(error)) throw error
      })
    }
  }

  finish(): void {
    this.#options.tree.finish()
    for (const [path, entry] of [...this.#folders].reverse()) {
      if (!fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) continue
      chownSoftly(path, entry.uid, entry.gid)
      fs.chmodSync(path, entry.mode)
      fs.utimesSync(path, entry.mtime, entry.mtime)
    }
  }

  close(): void {
    if (this.#file) fs.closeSync(this.#file.descriptor)
    this.#file = undefined
  }

  #root(entry: TarEntry): void {
    if (entry.type === '5') this.#folders.set(this.#options.root, entry)
  }

  async #whiteout(place: Place): Promise<void> {
    const isOurs = (path: string) => this.#ours.has(path)
    if (place.name === OPAQUE) return this.#options.tree.hideAll(place.folder, isOurs)
    // Other names of this form are notes that aufs made for itself.
    if (place.name.startsWith(`${WHITEOUT}${WHITEOUT}`)) return
    const name = place.name.slice(WHITEOUT.length)
    if (name === '' || name === '.' || name === '..') throw badImage(`the whiteout ${JSON.stringify(place.name)}`)
    const { folder, path } = place
    const at = path.slice(0, path.length - place.name.length) + name
    await this.#options.tree.hide({ folder, name, file: `${folder.own}/${name}`, path: at }, isOurs)
  }

  async #make(entry: TarEntry, place: Place): Promise<void> {
    const { tree } = this.#options
    const type = entry.type === '0' && entry.name.endsWith('/') ? '5' : entry.type
    switch (type) {
      case '0':
      case '7':
        return this.#makeFile(entry, place)
      case '1':
        return this.#makeHardLink(entry, place)
      case '2':
        if (entry.link === '' || entry.link.includes('\0'))
          throw badImage(`${JSON.stringify(entry.name)} links nowhere`)
        tree.remove(place)
        fs.symlinkSync(entry.link, place.file)
        chownSoftly(place.file, entry.uid, entry.gid)
        fs.lutimesSync(place.file, entry.mtime, entry.mtime)
        return this.#withAttributes(entry, place.file)
      case '3':
      case '4':
      case '6':
        return this.#makeNode(entry, place)
      case '5':
        await tree.makeFolder(place)
        this.#folders.delete(place.file)
        this.#folders.set(place.file, entry)
        return this.#withAttributes(entry, place.file)
      case 'V':
        return
      default:
        throw badImage(`${JSON.stringify(entry.name)} is of the unsupported tar type ${JSON.stringify(entry.type)}`)
    }
  }

  #makeFile(entry: TarEntry, place: Place): void {
    this.#file = { entry, path: place.file, descriptor: this.#openNew(place) }
  }

  /** Most files are there once: only a second one looks for the first. */
  #openNew(place: Place): number {
    try {
      return fs.openSync(place.file, 'wx', 0o600)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    this.#options.tree.remove(place)
    return fs.openSync(place.file, 'wx', 0o600)
  }

  async #makeHardLink(entry: TarEntry, place: Place): Promise<void> {
    const target = await this.#options.tree.present(entry.link)
    if (target === place.file) return
    this.#options.tree.remove(place)
    // Its own name may have led through what was just removed.
    if (!fs.lstatSync(target, { throwIfNoEntry: false }))
      throw badImage(`${JSON.stringify(entry.name)} links to itself`)
    fs.linkSync(target, place.file)
  }

  /** Not everybody may make devices, and few images need theirs: the runtime brings the usual ones. */
  async #makeNode(entry: TarEntry, place: Place): Promise<void> {
    const { tree, files } = this.#options
    // This one would hide what is below.
    if (entry.type === '3' && entry.major === 0 && entry.minor === 0) throw badImage(`the device 0/0 at ${entry.name}`)
    tree.remove(place)
    try {
      await files.mknod(place.file, NODE_KINDS[entry.type]! | entry.mode, entry.major, entry.minor)
    } catch (error) {
      if (notPermitted(error)) return
      throw error
    }
    chownSoftly(place.file, entry.uid, entry.gid)
    fs.chmodSync(place.file, entry.mode)
    fs.lutimesSync(place.file, entry.mtime, entry.mtime)
  }

  #withAttributes({ xattrs }: TarEntry, path: string): void {
    if (xattrs.length > 0) this.afterwards = { path, xattrs }
  }
}

/** Attributes that steer overlay, or a security module of this machine, are not an image's to set. */
const isAllowed = (name: string) =>
  (name.startsWith('user.') && !name.startsWith('user.overlay.')) || name === 'security.capability'

function fchownSoftly(descriptor: number, { uid, gid }: TarEntry): void {
  try {
    fs.fchownSync(descriptor, uid, gid)
  } catch (error) {
    if (!['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
