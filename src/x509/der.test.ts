import { describe, expect, it } from 'vitest'
import {
  bitString,
  boolean,
  contextTag,
  integer,
  objectIdentifier,
  objectIdentifierOf,
  octetString,
  partsOf,
  readElements,
  sequence,
  set,
  TAG,
  time,
  utf8String,
} from './der.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe('writing', () => {
  it.each([
    ['a small integer', integer(hex('05')), '02 01 05'],
    ['an integer whose first bit is set', integer(hex('80')), '02 02 00 80'],
    ['an integer without leading zeros', integer(hex('00 00 7f')), '02 01 7f'],
    ['zero', integer(hex('00')), '02 01 00'],
    ['true', boolean(true), '01 01 ff'],
    ['text', utf8String('é'), '0c 02 c3 a9'],
    ['bits with unused ones', bitString(hex('a0'), 5), '03 02 05 a0'],
    ['a set in the order of its bytes', set(integer(hex('02')), integer(hex('01'))), '31 06 02 01 01 02 01 02'],
    ['a wrapping context tag', contextTag(0, integer(hex('02'))), 'a0 03 02 01 02'],
    ['a plain context tag', contextTag(2, Buffer.from('a'), false), '82 01 61'],
    ['an object identifier', objectIdentifier('1.2.840.10045.4.3.2'), '06 08 2a 86 48 ce 3d 04 03 02'],
    ['a time before 2050', time(Date.UTC(2049, 11, 31, 23, 59, 59)), `17 0d ${ascii('491231235959Z')}`],
    ['a time from 2050 on', time(Date.UTC(2050, 0, 1)), `18 0f ${ascii('20500101000000Z')}`],
  ])('encodes %s', (_, written, expected) => expect(written).toEqual(hex(expected)))
})

const ascii = (text: string) => Buffer.from(text).toString('hex')

describe('reading', () => {
  it.each([0, 1, 127, 128, 255, 256, 65_535, 65_536])('reads back content of %i bytes', (size) => {
    const content = Buffer.alloc(size, 7)
    const [element, ...others] = readElements(octetString(content))
    expect(element).toEqual({ tag: TAG.octetString, content, bytes: octetString(content) })
    expect(others).toEqual([])
  })

  it.each(['0.9.2342', '1.2.840.113549.1.1.11', '2.5.29.17', '1.3.101.112'])('reads back %s', (dotted) => {
    expect(objectIdentifierOf(readElements(objectIdentifier(dotted))[0])).toBe(dotted)
  })

  it('reads the parts of a sequence', () => {
    const parts = partsOf(readElements(sequence(boolean(false), utf8String('a')))[0], TAG.sequence)
    expect(parts.map(({ tag }) => tag)).toEqual([TAG.boolean, TAG.utf8String])
  })

  it.each([
    ['a tag without a length', '30'],
    ['a length without its bytes', '30 82 01'],
    ['a length wider than four bytes', '30 85 00 00 00 00 01 00'],
    ['an indefinite length', '30 80 00 00'],
    ['content that is cut off', '30 05 01 01'],
  ])('rejects %s', (_, bytes) => expect(() => readElements(hex(bytes))).toThrow('asn1: syntax error'))

  it('rejects an element with another tag than expected', () => {
    const [element] = readElements(boolean(true))
    expect(() => partsOf(element, TAG.sequence)).toThrow('asn1: structure error')
    expect(() => partsOf(undefined, TAG.sequence)).toThrow('asn1: structure error')
    expect(() => objectIdentifierOf(element)).toThrow('asn1: structure error')
  })
})
