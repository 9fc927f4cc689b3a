/** One block of 512 bytes before each entry of a tar: ustar, with what GNU tar writes instead of octal digits. */
import { badImage } from '../image-error.ts'

export const BLOCK = 512

export interface TarHeader {
  readonly type: string
  readonly name: string
  readonly link: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Of the data that follows. */
  readonly size: number
  /** Seconds since 1970. */
  readonly mtime: number
  readonly major: number
  readonly minor: number
}

const CHECKSUM = 148
const CHECKSUM_END = 156

export function parseHeader(block: Buffer): TarHeader {
  checkSum(block)
  const magic = block.toString('latin1', 257, 263)
  // GNU tar keeps other things where ustar has the beginning of the name.
  const prefix = magic === 'ustar\0' ? text(block, 345, 500) : ''
  const name = text(block, 0, 100)
  const isUstar = magic.startsWith('ustar')
  return {
    type: block[156] === 0 ? '0' : String.fromCharCode(block[156]!),
    name: prefix === '' ? name : `${prefix}/${name}`,
    link: text(block, 157, 257),
    mode: number(block, 100, 108) & 0o7777,
    uid: number(block, 108, 116),
    gid: number(block, 116, 124),
    size: number(block, 124, 136),
    mtime: number(block, 136, 148),
    major: isUstar ? number(block, 329, 337) : 0,
    minor: isUstar ? number(block, 337, 345) : 0,
  }
}

/** Old programs summed signed bytes. */
function checkSum(block: Buffer): void {
  let unsigned = 0
  let signed = 0
  for (let i = 0; i < BLOCK; i++) {
    const byte = i >= CHECKSUM && i < CHECKSUM_END ? 0x20 : block[i]!
    unsigned += byte
    signed += byte > 127 ? byte - 256 : byte
  }
  const written = number(block, CHECKSUM, CHECKSUM_END)
  if (written !== unsigned && written !== signed) throw badImage('the layer is no tar: a header has a wrong checksum')
}

function text(block: Buffer, start: number, end: number): string {
  const zero = block.indexOf(0, start)
  return block.toString('utf8', start, zero < 0 || zero > end ? end : zero)
}

const OCTAL = /^[\s\0]*([0-7]*)[\s\0]*/

function number(block: Buffer, start: number, end: number): number {
  if (block[start]! & 0x80) return base256(block.subarray(start, end))
  const field = block.toString('latin1', start, end)
  const digits = OCTAL.exec(field)
  if (!digits || (digits[0].length < field.length && !field.includes('\0')))
    throw badImage('a tar header has a bad number')
  return digits[1] === '' ? 0 : Number.parseInt(digits[1]!, 8)
}

function base256(field: Buffer): number {
  const isNegative = field[0] === 0xff
  let value = isNegative ? -1n : BigInt(field[0]! & 0x7f)
  for (const byte of field.subarray(1)) value = value * 256n + BigInt(byte)
  const result = Number(value)
  if (!Number.isSafeInteger(result)) throw badImage('a tar header has a number too large')
  return result
}
