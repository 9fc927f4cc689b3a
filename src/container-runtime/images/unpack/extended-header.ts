/** What pax headers say about the entry that follows: `25 path=a/long/name\n`. */
import { badImage } from '../image-error.ts'
import type { TarHeader } from './tar-header.ts'

const SPACE = 0x20
const NEWLINE = 0x0a
const EQUALS = 0x3d
const LONGEST_COUNT = 20
const XATTR = 'SCHILY.xattr.'
const SPARSE = 'GNU.sparse.'
const KNOWN = new Set(['path', 'linkpath', 'size', 'uid', 'gid', 'mtime'])
/** The kernel lists no more names of one file than fit 64 KiB. */
const MOST_XATTRS = 256

/**
 * Keeps what is of use: a tar may have any number of headers before an entry, each with any number of records. Values are
 * bytes: those of extended attributes are no text.
 */
export function parsePax(bytes: Buffer, into: Map<string, Buffer>): void {
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(SPACE, at)
    const count = space < 0 || space - at > LONGEST_COUNT ? '' : bytes.toString('latin1', at, space)
    const end = /^[0-9]+$/.test(count) ? at + Number(count) : Number.NaN
    const equals = bytes.indexOf(EQUALS, space)
    if (!(end <= bytes.length) || end <= space + 1 || equals < 0 || equals >= end || bytes[end - 1] !== NEWLINE)
      throw badImage('a tar has a bad pax header')
    const key = bytes.toString('utf8', space + 1, equals)
    if (key === '' || key.includes('\0')) throw badImage('a tar has a bad pax header')
    if (key.startsWith(SPARSE)) throw badImage('sparse files in a tar are not supported')
    // A copy: the whole header would stay in memory for a short value.
    if (KNOWN.has(key) || key.startsWith(XATTR)) into.set(key, Buffer.from(bytes.subarray(equals + 1, end - 1)))
    if (into.size > KNOWN.size + MOST_XATTRS) throw badImage('a tar entry has too many extended attributes')
    at = end
  }
}

export interface Xattr {
  readonly name: string
  readonly value: Buffer
}

export interface TarEntry extends TarHeader {
  readonly xattrs: readonly Xattr[]
}

const NO_XATTRS: readonly Xattr[] = []

/** The header with what the extended ones before it say instead. */
export function withExtensions(header: TarHeader, pax: ReadonlyMap<string, Buffer>): TarEntry {
  if (pax.size === 0) return { ...header, xattrs: NO_XATTRS }
  const string = (key: string, otherwise: string) => {
    const value = pax.get(key)
    if (value?.includes(0)) throw badImage(`a tar entry has a ${key} with a NUL`)
    return value === undefined || value.length === 0 ? otherwise : value.toString('utf8')
  }
  const decimal = (key: string, otherwise: number) => {
    const value = pax.get(key)?.toString('latin1') ?? ''
    if (value === '') return otherwise
    if (!/^-?[0-9]{1,18}(\.[0-9]*)?$/.test(value)) throw badImage(`a tar entry has a bad ${key}`)
    return Number(value)
  }
  const xattrs = [...pax].filter(([key]) => key.startsWith(XATTR))
  return {
    ...header,
    name: string('path', header.name),
    link: string('linkpath', header.link),
    size: decimal('size', header.size),
    uid: decimal('uid', header.uid),
    gid: decimal('gid', header.gid),
    mtime: decimal('mtime', header.mtime),
    xattrs: xattrs.map(([key, value]) => ({ name: key.slice(XATTR.length), value })),
  }
}
