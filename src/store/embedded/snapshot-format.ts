import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { CorruptStoreError } from '../corruption.ts'
import type { StoreFile, StoreFiles } from '../files.ts'
import type { Entry, Revision } from '../store.ts'

/**
 * A whole store at one revision in one file.
 *
 *   header:  magic, format version u32, revision u48, zeros, crc32 u32
 *   blocks:  length u32 | entries u32 | crc32 u32 of both and of the entries | entries...
 *   the end: a block of no entries whose content is the number of all entries, u48
 *   entry:   value length u32 | key length u16 | revision u48 | created u48 | key | value
 */
const MAGIC = 'SMPNSNAP'
const VERSION = 1
const HEADER = 32
const BLOCK_HEADER = 12
const ENTRY_HEADER = 18
const END_BODY = 6
const BLOCK_BYTES = 1 << 20

/** Writes the snapshot beside its final name first, so that the name only ever shows a complete one. */
export async function writeSnapshot(
  files: StoreFiles,
  path: string,
  revision: Revision,
  pages: AsyncIterable<readonly Entry[]>,
): Promise<number> {
  const temporary = `${path}.tmp`
  const file = await files.open(temporary, 'create')
  let bytes: number
  try {
    const writer = new BlockWriter(file)
    await writer.begin(revision)
    for await (const entries of pages) for (const entry of entries) await writer.add(entry)
    bytes = await writer.end()
    await file.sync()
  } catch (error) {
    await file.close()
    await files.remove(temporary).catch(() => {})
    throw error
  }
  await file.close()
  await files.rename(temporary, path)
  await files.syncDirectory(dirname(path))
  return bytes
}

class BlockWriter {
  readonly #file: StoreFile
  #block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #used = BLOCK_HEADER
  #inBlock = 0
  #total = 0
  #position = 0

  constructor(file: StoreFile) {
    this.#file = file
  }

  begin(revision: Revision): Promise<void> {
    const header = Buffer.alloc(HEADER)
    header.write(MAGIC, 0, 'latin1')
    header.writeUInt32LE(VERSION, 8)
    header.writeUIntLE(revision, 12, 6)
    header.writeUInt32LE(crc32(header.subarray(0, HEADER - 4)), HEADER - 4)
    return this.#write(header)
  }

  async add(entry: Entry): Promise<void> {
    const bound = ENTRY_HEADER + entry.key.length * 3 + entry.value.length
    if (this.#used + bound > this.#block.length) await this.#flush()
    if (this.#used + bound > this.#block.length) this.#block = Buffer.allocUnsafeSlow(BLOCK_HEADER + bound)
    const block = this.#block
    const at = this.#used
    const keyLength = block.write(entry.key, at + ENTRY_HEADER, 'utf8')
    block.writeUInt32LE(entry.value.length, at)
    block.writeUInt16LE(keyLength, at + 4)
    block.writeUIntLE(entry.revision, at + 6, 6)
    block.writeUIntLE(entry.created, at + 12, 6)
    entry.value.copy(block, at + ENTRY_HEADER + keyLength)
    this.#used = at + ENTRY_HEADER + keyLength + entry.value.length
    this.#inBlock++
  }

  async end(): Promise<number> {
    await this.#flush()
    this.#block.writeUIntLE(this.#total, BLOCK_HEADER, END_BODY)
    this.#used = BLOCK_HEADER + END_BODY
    await this.#writeBlock(0)
    return this.#position
  }

  async #flush(): Promise<void> {
    if (this.#inBlock === 0) return
    await this.#writeBlock(this.#inBlock)
    this.#total += this.#inBlock
    this.#inBlock = 0
    this.#used = BLOCK_HEADER
  }

  #writeBlock(count: number): Promise<void> {
    const block = this.#block.subarray(0, this.#used)
    block.writeUInt32LE(block.length - BLOCK_HEADER, 0)
    block.writeUInt32LE(count, 4)
    block.writeUInt32LE(blockChecksum(block), 8)
    return this.#write(block)
  }

  async #write(buffer: Buffer): Promise<void> {
    await this.#file.write(buffer, this.#position)
    this.#position += buffer.length
  }
}

const blockChecksum = (block: Buffer): number => crc32(block.subarray(BLOCK_HEADER), crc32(block.subarray(0, 8)))

export interface SnapshotVisitor {
  begin(revision: Revision): void
  /** The value is a slice of a block; see `releaseSparseBuffers`. */
  entry(entry: Entry): void
}

/** Reads a snapshot through; throws `CorruptStoreError` unless every byte of it is as written. */
export async function readSnapshot(files: StoreFiles, path: string, visitor: SnapshotVisitor): Promise<number> {
  const file = await files.open(path, 'read')
  try {
    const size = await file.size()
    visitor.begin(await readHeader(file, path))
    let position = HEADER
    for (let total = 0; ; ) {
      const block = await readBlock(file, path, position, size)
      position += block.length
      const count = block.readUInt32LE(4)
      total += count
      if (count === 0) {
        checkEnd(path, position, size, block.readUIntLE(BLOCK_HEADER, END_BODY), total)
        return size
      }
      readEntries(block, count, visitor)
    }
  } finally {
    await file.close()
  }
}

async function readHeader(file: StoreFile, path: string): Promise<Revision> {
  const header = Buffer.alloc(HEADER)
  const length = await file.read(header, 0)
  if (length < HEADER || header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new CorruptStoreError(path, 0, 'it does not start as a snapshot does')
  }
  if (crc32(header.subarray(0, HEADER - 4)) !== header.readUInt32LE(HEADER - 4)) {
    throw new CorruptStoreError(path, 0, "the header's checksum is wrong")
  }
  const version = header.readUInt32LE(8)
  if (version !== VERSION) {
    throw new CorruptStoreError(path, 8, `it has format version ${version}, this program knows ${VERSION}`)
  }
  return header.readUIntLE(12, 6)
}

async function readBlock(file: StoreFile, path: string, position: number, size: number): Promise<Buffer> {
  const start = Buffer.alloc(BLOCK_HEADER)
  if ((await file.read(start, position)) < BLOCK_HEADER) throw new CorruptStoreError(path, position, 'it is cut off')
  const length = BLOCK_HEADER + start.readUInt32LE(0)
  if (position + length > size) throw new CorruptStoreError(path, position, 'it is cut off within a block')
  const block = Buffer.allocUnsafeSlow(length)
  await file.read(block, position)
  if (blockChecksum(block) !== block.readUInt32LE(8)) {
    throw new CorruptStoreError(path, position, "a block's checksum is wrong")
  }
  return block
}

function readEntries(block: Buffer, count: number, visitor: SnapshotVisitor): void {
  let at = BLOCK_HEADER
  for (let i = 0; i < count; i++) {
    const keyAt = at + ENTRY_HEADER
    const valueAt = keyAt + block.readUInt16LE(at + 4)
    const end = valueAt + block.readUInt32LE(at)
    const value = block.subarray(valueAt, end)
    const [revision, created] = [block.readUIntLE(at + 6, 6), block.readUIntLE(at + 12, 6)]
    visitor.entry({ key: block.toString('utf8', keyAt, valueAt), value, revision, created })
    at = end
  }
}

function checkEnd(path: string, position: number, size: number, expected: number, total: number): void {
  if (total !== expected) throw new CorruptStoreError(path, position, `it has ${total} entries instead of ${expected}`)
  if (position !== size) throw new CorruptStoreError(path, position, 'something follows its end')
}
