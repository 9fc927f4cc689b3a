import { inflateRawSync } from 'node:zlib'

/** Just enough of the ZIP format to take single files out of an archive: stored and deflated entries, no ZIP64. */

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50

/** The bytes of one file of the archive. */
export function readZipEntry(archive: Buffer, wanted: string): Buffer {
  for (const entry of directoryOf(archive)) {
    if (entry.name === wanted) return contentOf(archive, entry)
  }
  throw new Error(`no ${wanted} in the archive`)
}

interface ZipEntry {
  name: string
  method: number
  size: number
  offset: number
}

function* directoryOf(archive: Buffer): Generator<ZipEntry> {
  let end = archive.length - 22
  while (end >= 0 && archive.readUInt32LE(end) !== END_OF_DIRECTORY) end--
  if (end < 0) throw new Error('not a ZIP archive')
  const count = archive.readUInt16LE(end + 10)
  let at = archive.readUInt32LE(end + 16)
  for (let i = 0; i < count; i++) {
    if (archive.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error('broken ZIP directory')
    const nameLength = archive.readUInt16LE(at + 28)
    yield {
      name: archive.toString('utf8', at + 46, at + 46 + nameLength),
      method: archive.readUInt16LE(at + 10),
      size: archive.readUInt32LE(at + 20),
      offset: archive.readUInt32LE(at + 42),
    }
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
}

function contentOf(archive: Buffer, entry: ZipEntry): Buffer {
  const start = entry.offset + 30 + archive.readUInt16LE(entry.offset + 26) + archive.readUInt16LE(entry.offset + 28)
  const packed = archive.subarray(start, start + entry.size)
  return entry.method === 0 ? packed : inflateRawSync(packed)
}
