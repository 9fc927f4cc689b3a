import { close, constants, fstat, fsync, ftruncate, mkdir, open, promises, read, rename, unlink, write } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { OpenMode, StoreFile, StoreFiles } from '../files.ts'
import { lockDirectory } from './directory-lock.ts'

const openFile = promisify(open)
const closeFile = promisify(close)
const syncFile = promisify(fsync)
const makeDirectory = promisify(mkdir)

/** One system call instead of two per commit. Elsewhere O_DSYNC is missing or does not flush the drive's cache. */
const WRITES_SYNC = process.platform === 'linux' ? constants.O_DSYNC : 0

const FLAGS: Record<OpenMode, number> = {
  read: constants.O_RDONLY,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC,
  durable: constants.O_RDWR | WRITES_SYNC,
}

async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const descriptor = await openFile(directory, constants.O_RDONLY)
  try {
    await syncFile(descriptor)
  } finally {
    await closeFile(descriptor)
  }
}

export const diskFiles: StoreFiles = {
  async list(directory) {
    try {
      return await promises.readdir(directory)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  },
  async makeDirectory(directory) {
    const made = await makeDirectory(directory, { recursive: true, mode: 0o700 })
    if (made === undefined) return
    const outermost = dirname(resolve(made))
    for (let parent = dirname(resolve(directory)); ; parent = dirname(parent)) {
      await syncDirectory(parent)
      if (parent.length <= outermost.length) return
    }
  },
  async open(path, mode) {
    return new DiskFile(await openFile(path, FLAGS[mode], 0o600), mode === 'durable' && WRITES_SYNC === 0)
  },
  rename: promisify(rename),
  remove: promisify(unlink),
  syncDirectory,
  lock: lockDirectory,
}

class DiskFile implements StoreFile {
  readonly #descriptor: number
  readonly #syncAfterWrite: boolean

  constructor(descriptor: number, syncAfterWrite: boolean) {
    this.#descriptor = descriptor
    this.#syncAfterWrite = syncAfterWrite
  }

  size(): Promise<number> {
    return new Promise((done, reject) => {
      fstat(this.#descriptor, (error, stats) => (error ? reject(error) : done(stats.size)))
    })
  }

  async read(buffer: Buffer, position: number): Promise<number> {
    let filled = 0
    while (filled < buffer.length) {
      const count = await this.#readOnce(buffer, filled, position + filled)
      if (count === 0) break
      filled += count
    }
    return filled
  }

  async write(buffer: Buffer, position: number): Promise<void> {
    let written = await this.#writeOnce(buffer, 0, position)
    // A disk that fills up answers with a short write first and with the error on the next one.
    while (written < buffer.length) written += await this.#writeOnce(buffer, written, position + written)
    if (this.#syncAfterWrite) await this.sync()
  }

  sync(): Promise<void> {
    return syncFile(this.#descriptor)
  }

  truncate(length: number): Promise<void> {
    return new Promise((done, reject) => {
      ftruncate(this.#descriptor, length, (error) => (error ? reject(error) : done()))
    })
  }

  close(): Promise<void> {
    return closeFile(this.#descriptor)
  }

  #readOnce(buffer: Buffer, offset: number, position: number): Promise<number> {
    return new Promise((done, reject) => {
      read(this.#descriptor, buffer, offset, buffer.length - offset, position, (error, count) =>
        error ? reject(error) : done(count),
      )
    })
  }

  #writeOnce(buffer: Buffer, offset: number, position: number): Promise<number> {
    return new Promise((done, reject) => {
      write(this.#descriptor, buffer, offset, buffer.length - offset, position, (error, count) =>
        error ? reject(error) : done(count),
      )
    })
  }
}
