/** Where each file lies in a tar on disk. */
import fs from 'node:fs'
import path from 'node:path'
import { badImage } from '../image-error.ts'
import { parsePax, withExtensions } from '../unpack/extended-header.ts'
import { BLOCK, parseHeader } from '../unpack/tar-header.ts'

export interface TarPart {
  readonly start: number
  readonly size: number
  readonly link?: string
  readonly isHardLink?: boolean
}

const MOST_PARTS = 100_000

export function indexTar(file: string, headerLimit: number): Map<string, TarPart> {
  const descriptor = fs.openSync(file, 'r')
  try {
    return scan(descriptor, fs.fstatSync(descriptor).size, headerLimit)
  } finally {
    fs.closeSync(descriptor)
  }
}

function scan(descriptor: number, length: number, headerLimit: number): Map<string, TarPart> {
  const parts = new Map<string, TarPart>()
  const read = (start: number, size: number) => {
    const bytes = Buffer.alloc(size)
    if (fs.readSync(descriptor, bytes, 0, size, start) !== size) throw badImage('the archive is cut short')
    return bytes
  }
  let pax = new Map<string, Buffer>()
  for (let at = 0; at + BLOCK <= length; ) {
    const block = read(at, BLOCK)
    if (block.every((byte) => byte === 0)) break
    const header = parseHeader(block)
    const start = at + BLOCK
    if ('xLKg'.includes(header.type)) {
      if (header.size > headerLimit) throw badImage('the archive has too large a header')
      const bytes = read(start, header.size)
      if (header.type === 'x') parsePax(bytes, pax)
      else if (header.type !== 'g')
        pax.set(header.type === 'L' ? 'path' : 'linkpath', bytes.subarray(0, bytes.indexOf(0)))
      at = start + padded(header.size)
      continue
    }
    const entry = withExtensions(header, pax)
    pax = new Map()
    const hasData = !'123456'.includes(entry.type)
    const size = hasData ? entry.size : 0
    if (!Number.isSafeInteger(size) || size < 0 || start + size > length) throw badImage('the archive is cut short')
    const name = path.posix.normalize(entry.name)
    if ('12'.includes(entry.type)) parts.set(name, { start, size, link: entry.link, isHardLink: entry.type === '1' })
    else if (hasData) parts.set(name, { start, size })
    if (parts.size > MOST_PARTS) throw badImage('the archive has too many files')
    at = start + padded(size)
  }
  return parts
}

const padded = (size: number) => Math.ceil(size / BLOCK) * BLOCK
