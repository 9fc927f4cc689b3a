import { dirname, join } from 'node:path'
import type { Random } from '../base/random.ts'
import type { OpenMode, StoreFile, StoreFiles } from './files.ts'

const SECTOR = 512

interface Unsynced {
  readonly position: number
  readonly bytes: Buffer
}

/** A file as it is in the cache, as it is on the platter, and what lies between the two. */
class Inode {
  content: Buffer = Buffer.alloc(0)
  durable: Buffer = Buffer.alloc(0)
  unsynced: Unsynced[] = []

  write(bytes: Buffer, position: number): void {
    this.content = overwritten(this.content, bytes, position)
    this.unsynced.push({ position, bytes: Buffer.from(bytes) })
  }

  truncate(length: number): void {
    this.content = Buffer.from(this.content.subarray(0, length))
  }

  sync(): void {
    this.durable = Buffer.from(this.content)
    this.unsynced = []
  }

  /** Each sector of what was not synced is on the platter or not, in any order. */
  losePower(random: Random): void {
    let left = this.durable
    for (const { position, bytes } of this.unsynced) {
      for (let at = 0; at < bytes.length; ) {
        const next = Math.min(bytes.length, at + SECTOR - ((position + at) % SECTOR))
        if (random.next() < 0.5) left = overwritten(left, bytes.subarray(at, next), position + at)
        at = next
      }
    }
    this.content = left
    this.sync()
  }
}

function overwritten(old: Buffer, bytes: Buffer, position: number): Buffer {
  const grown = Buffer.alloc(Math.max(old.length, position + bytes.length))
  old.copy(grown)
  bytes.copy(grown, position)
  return grown
}

export type Fault = 'EIO' | 'ENOSPC'

/**
 * A disk in memory on which power can fail: what was not synced is then lost, kept or torn by sectors, and names that were
 * not synced with their directory may or may not be there. It can also be full, or broken.
 */
export class SimulatedDisk implements StoreFiles {
  readonly #random: Random
  #names = new Map<string, Inode>()
  #durableNames = new Map<string, Inode>()
  /** Disks of former power cycles answer no more. */
  #generation = 0
  /** Bytes that still fit; a write that needs more is cut short and fails. */
  space = Number.POSITIVE_INFINITY
  /** Every sync and every durable write fails with this. */
  syncFault: Fault | undefined
  /** Called before a durable write reaches the disk: power may fail right here. */
  beforeDurableWrite: (() => void) | undefined

  constructor(random: Random) {
    this.#random = random
  }

  losePower(): void {
    this.#generation++
    const survivors = new Map<string, Inode>()
    for (const name of new Set([...this.#names.keys(), ...this.#durableNames.keys()])) {
      const inode = this.#random.next() < 0.5 ? this.#names.get(name) : this.#durableNames.get(name)
      if (inode) survivors.set(name, inode)
    }
    for (const inode of new Set(survivors.values())) inode.losePower(this.#random)
    this.#names = survivors
    this.#durableNames = new Map(survivors)
  }

  /** The content of a file, to be looked at or damaged. */
  content(path: string): Buffer {
    return this.#inode(path).content
  }

  async list(directory: string): Promise<string[]> {
    const names = [...this.#names.keys()].filter((path) => dirname(path) === directory)
    return names.map((path) => path.slice(join(directory, '/').length))
  }

  async makeDirectory(): Promise<void> {}

  async open(path: string, mode: OpenMode): Promise<StoreFile> {
    this.#check(this.#generation)
    if (mode === 'create') this.#names.set(path, new Inode())
    return this.#handle(this.#inode(path), mode)
  }

  async rename(from: string, to: string): Promise<void> {
    this.#names.set(to, this.#inode(from))
    this.#names.delete(from)
  }

  async remove(path: string): Promise<void> {
    this.space += this.#inode(path).content.length
    this.#names.delete(path)
  }

  async syncDirectory(directory: string): Promise<void> {
    for (const path of [...this.#durableNames.keys()]) {
      if (dirname(path) === directory && !this.#names.has(path)) this.#durableNames.delete(path)
    }
    for (const [path, inode] of this.#names) if (dirname(path) === directory) this.#durableNames.set(path, inode)
  }

  async lock(): Promise<() => Promise<void>> {
    return async () => {}
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(path)
    if (!inode) throw fault('ENOENT', path)
    return inode
  }

  #check(generation: number): void {
    if (generation !== this.#generation) throw fault('EIO', 'the power failed')
  }

  #write(inode: Inode, buffer: Buffer, position: number): void {
    const growth = Math.max(0, position + buffer.length - inode.content.length)
    const fits = growth <= this.space ? buffer.length : Math.max(0, buffer.length - growth + this.space)
    inode.write(buffer.subarray(0, fits), position)
    this.space -= Math.min(growth, this.space)
    if (fits < buffer.length) throw fault('ENOSPC', 'write')
  }

  #handle(inode: Inode, mode: OpenMode): StoreFile {
    const generation = this.#generation
    const step = async <T>(action: () => T): Promise<T> => {
      await Promise.resolve()
      this.#check(generation)
      return action()
    }
    const sync = () => {
      if (this.syncFault) throw fault(this.syncFault, 'sync')
      inode.sync()
    }
    return {
      size: () => step(() => inode.content.length),
      read: (buffer, position) => step(() => inode.content.copy(buffer, 0, position)),
      write: (buffer, position) =>
        step(() => {
          this.#write(inode, buffer, position)
          if (mode !== 'durable') return
          this.beforeDurableWrite?.()
          this.#check(generation)
          sync()
        }),
      sync: () => step(sync),
      truncate: (length) =>
        step(() => {
          this.space += Math.max(0, inode.content.length - length)
          inode.truncate(length)
        }),
      close: async () => {},
    }
  }
}

function fault(code: string, what: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${what}`), { code })
}
