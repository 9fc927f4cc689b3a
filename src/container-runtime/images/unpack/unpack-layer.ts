/** A tar becomes a folder. Its author is not trusted: every path goes through the tree, and everything has a limit. */
import fs from 'node:fs'
import type { Opened } from '../../../linux/beneath.ts'
import { hasCode } from '../../../linux/system-error.ts'
import { badImage } from '../image-error.ts'
import type { ImageLimits } from '../limits.ts'
import type { TarEntry, Xattr } from './extended-header.ts'
import type { FolderAttributes } from './layer-folder.ts'
import type { LayerTree, Place } from './layer-tree.ts'
import { notPermitted, ownerSoftly, type PrivilegedFiles, S_IFBLK, S_IFCHR, S_IFIFO } from './privileged-files.ts'
import { TarReader } from './tar-reader.ts'

export interface UnpackOptions {
  readonly tree: LayerTree
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
    await options.tree.finish()
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
  #file: { readonly entry: TarEntry; readonly place: Place; readonly opened: Opened } | undefined
  afterwards: { readonly place: Place; readonly xattrs: readonly Xattr[] } | undefined
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
    place.folder.brought.add(place.name)
    await this.#make(entry, place)
  }

  data(bytes: Buffer): void {
    this.bytes += bytes.length
    const { layerBytes } = this.#options.limits
    if (this.bytes > layerBytes) throw badImage(`a layer of more than ${layerBytes} bytes`)
    if (!this.#file) return
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(this.#file.opened.descriptor, bytes, at)
  }

  end(): void {
    const file = this.#file
    if (!file) return
    const { entry, opened } = file
    const { descriptor } = opened
    this.#file = undefined
    try {
      ownerSoftly(() => fs.fchownSync(descriptor, entry.uid, entry.gid))
      fs.fchmodSync(descriptor, entry.mode)
      fs.futimesSync(descriptor, entry.mtime, entry.mtime)
    } finally {
      opened[Symbol.dispose]()
    }
    this.#withAttributes(entry, file.place)
  }

  /** The attributes of the entry that has just ended; changing the owner would have taken capabilities away. */
  async attributes(): Promise<void> {
    const { place, xattrs } = this.afterwards!
    this.afterwards = undefined
    const path = this.#options.tree.opened(place).pathForOthers(place.name)
    for (const { name, value } of xattrs) {
      if (!isAllowed(name)) continue
      await this.#options.files.setxattr(path, name, value).catch((error) => {
        if (!notPermitted(error)) throw error
      })
    }
  }

  close(): void {
    this.#file?.opened[Symbol.dispose]()
    this.#file = undefined
  }

  #root(entry: TarEntry): void {
    if (entry.type === '5') this.#options.tree.root.attributes = attributesOf(entry)
  }

  async #whiteout({ folder, name: mark }: Place): Promise<void> {
    if (mark === OPAQUE) return this.#options.tree.hideAll(folder)
    // Other names of this form are notes that aufs made for itself.
    if (mark.startsWith(`${WHITEOUT}${WHITEOUT}`)) return
    const name = mark.slice(WHITEOUT.length)
    if (name === '' || name === '.' || name === '..') throw badImage(`the whiteout ${JSON.stringify(mark)}`)
    await this.#options.tree.hide({ folder, name })
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
        return this.#makeSymbolicLink(entry, place)
      case '3':
      case '4':
      case '6':
        return this.#makeNode(entry, place)
      case '5':
        ;(await tree.makeFolder(place)).attributes = attributesOf(entry)
        return this.#withAttributes(entry, place)
      case 'V':
        return
      default:
        throw badImage(`${JSON.stringify(entry.name)} is of the unsupported tar type ${JSON.stringify(entry.type)}`)
    }
  }

  #makeFile(entry: TarEntry, place: Place): void {
    this.#file = { entry, place, opened: this.#openNew(place) }
  }

  /** Most files are there once: only a second one looks for the first. */
  #openNew(place: Place): Opened {
    const { tree } = this.#options
    try {
      return tree.opened(place).create(place.name, 0o600)
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
    tree.remove(place)
    return tree.opened(place).create(place.name, 0o600)
  }

  #makeSymbolicLink(entry: TarEntry, place: Place): void {
    if (entry.link === '' || entry.link.includes('\0')) throw badImage(`${JSON.stringify(entry.name)} links nowhere`)
    this.#options.tree.remove(place)
    const folder = this.#options.tree.opened(place)
    folder.makeLink(entry.link, place.name)
    ownerSoftly(() => folder.setOwner(place.name, entry.uid, entry.gid))
    folder.setTimes(place.name, entry.mtime, entry.mtime)
    this.#withAttributes(entry, place)
  }

  async #makeHardLink(entry: TarEntry, place: Place): Promise<void> {
    const { tree } = this.#options
    const target = await tree.present(entry.link)
    if (target.folder === place.folder && target.name === place.name) return
    tree.remove(place)
    if (!target.folder.isThere) throw badImage(`${JSON.stringify(entry.name)} links to something in itself`)
    tree.opened(place).link(tree.opened(target), target.name, place.name)
  }

  /** Not everybody may make devices, and few images need theirs: the runtime brings the usual ones. */
  async #makeNode(entry: TarEntry, place: Place): Promise<void> {
    const { tree, files } = this.#options
    // This one would hide what is below.
    if (entry.type === '3' && entry.major === 0 && entry.minor === 0) throw badImage(`the device 0/0 at ${entry.name}`)
    tree.remove(place)
    const folder = tree.opened(place)
    try {
      await files.mknod(
        folder.pathForOthers(place.name),
        NODE_KINDS[entry.type]! | entry.mode,
        entry.major,
        entry.minor,
      )
    } catch (error) {
      if (notPermitted(error)) return
      throw error
    }
    ownerSoftly(() => folder.setOwner(place.name, entry.uid, entry.gid))
    folder.setMode(place.name, entry.mode)
    folder.setTimes(place.name, entry.mtime, entry.mtime)
  }

  #withAttributes({ xattrs }: TarEntry, place: Place): void {
    if (xattrs.length > 0) this.afterwards = { place, xattrs }
  }
}

/** Attributes that steer overlay, or a security module of this machine, are not an image's to set. */
const isAllowed = (name: string) =>
  (name.startsWith('user.') && !name.startsWith('user.overlay.')) || name === 'security.capability'

/** The entry itself would keep its extended headers in memory. */
const attributesOf = ({ uid, gid, mode, mtime }: TarEntry): FolderAttributes => ({ uid, gid, mode, mtime })
