import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WireError, WireReader } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

function written(write: (writer: WireWriter) => void, capacity = 4): string {
  const writer = new WireWriter(capacity)
  write(writer)
  return writer.take().toString('hex')
}

describe('numbers', () => {
  it.each([
    [0, '00'],
    [1, '01'],
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [2 ** 28, '8080808001'],
    [2 ** 31, '8080808008'],
    [2 ** 32 - 1, 'ffffffff0f'],
    [2 ** 32, '8080808010'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
    [-1, 'ffffffffffffffffff01'],
    [-(2 ** 31), '80808080f8ffffffff01'],
    [-(2 ** 63), '80808080808080808001'],
  ])('%d is %s', (value, bytes) => {
    expect(new WireReader(hex(bytes)).int()).toBe(value)
    expect(written((writer) => writer.int(1, value))).toBe(`08${bytes}`)
  })

  it('come back as they went', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const bytes = hex(written((writer) => writer.int(1, value)))
        const reader = new WireReader(bytes)
        reader.at = 1
        expect(reader.int()).toBe(value)
        expect(reader.at).toBe(bytes.length)
      }),
    )
  })

  it.each([
    ['ends too early', '80'],
    ['ends in the middle', 'ffffffffff'],
    ['is longer than 64 bits', 'ffffffffffffffffffff01'],
  ])('a number that %s is refused', (_, bytes) => {
    expect(() => new WireReader(hex(bytes)).int()).toThrow(WireError)
  })
})

describe('texts', () => {
  it.each(['', 'a', 'öä漢🚢', 'x'.repeat(65), 'ö'.repeat(300)])('%j comes back', (text) => {
    const bytes = hex(written((writer) => writer.text(1, text)))
    const reader = new WireReader(bytes)
    expect(reader.size()).toBe(0x0a)
    expect(reader.text(bytes.length)).toBe(text)
    expect(reader.at).toBe(bytes.length)
  })

  it.each([
    ['a length beyond the end', '05 61'],
    ['a length of more than 32 bits', '8080808080 01 61'],
    ['bytes that are no UTF-8', '02 c3 28'],
  ])('%s is refused', (_, bytes) => {
    expect(() => new WireReader(hex(bytes)).text(hex(bytes).length)).toThrow(WireError)
  })

  it('may hold the replacement character itself', () => {
    expect(new WireReader(hex('03 ef bf bd')).text(4)).toBe('\ufffd')
  })
})

describe('messages', () => {
  it('are written from the end, each behind its length', () => {
    const bytes = written((writer) => {
      writer.text(2, 'b')
      writer.text(1, 'a')
      writer.closeBytes(3, 0)
    })
    expect(bytes).toBe('1a060a01611201'.concat('62'))
  })

  it('do not keep the room of a large one', () => {
    const writer = new WireWriter(16)
    writer.text(1, 'x'.repeat(1000))
    expect(writer.take()).toHaveLength(1003)
    writer.int(1, 5)
    expect(writer.take().toString('hex')).toBe('0805')
  })

  it.each([
    ['a varint', '8001', 0],
    ['eight bytes', '0102030405060708', 1],
    ['bytes', '03010203', 2],
    ['four bytes', '01020304', 5],
  ])('skip %s', (_, bytes, wireType) => {
    const reader = new WireReader(hex(bytes))
    reader.skip(wireType, hex(bytes).length)
    expect(reader.at).toBe(hex(bytes).length)
    expect(() => new WireReader(hex(bytes).subarray(0, -1)).skip(wireType, hex(bytes).length - 1)).toThrow(WireError)
  })

  it.each([3, 4, 6, 7])('refuse wire type %d', (wireType) => {
    expect(() => new WireReader(hex('0000')).skip(wireType, 2)).toThrow(WireError)
  })
})
