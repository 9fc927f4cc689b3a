import { describe, expect, test } from 'vitest'
import {
  bigInteger,
  bool,
  bytes,
  bytesMap,
  integer,
  integers,
  many,
  message,
  one,
  text,
  textMap,
  texts,
} from './message.ts'
import { WireError } from './wire-reader.ts'

const Inner = message({ name: text(1), size: integer(2) })
const Outer = message({
  inner: one(1, Inner),
  inners: many(2, Inner),
  names: texts(3),
  numbers: integers(4),
  labels: textMap(5),
  time: bigInteger(6),
  quota: integer(7),
  data: bytes(8),
  isOn: bool(9),
  notes: bytesMap(10),
})

describe('a message', () => {
  test('comes back as it went', () => {
    const value = {
      inner: { name: 'a', size: 2 ** 52 },
      inners: [{ name: 'b' }, {}],
      names: ['x', '', 'ü'],
      numbers: [0, 1, 300, -1],
      labels: { app: 'web', '': 'empty', __proto__x: 'kept' },
      time: 1_760_000_000_123_456_789n,
      quota: -1,
      data: Buffer.from([0, 255]),
      isOn: true,
      notes: { a: Buffer.from([1, 2]), empty: Buffer.alloc(0) },
    }
    expect(Outer.decode(Outer.encode(value))).toEqual(value)
    expect(Outer.decode(Outer.encode({}))).toEqual({})
  })

  test.each([
    ['a number', { quota: 300 }, '38ac02'],
    ['a negative number, in ten bytes', { quota: -1 }, '38ffffffffffffffffff01'],
    ['packed numbers', { numbers: [3, 270] }, '2203038e02'],
    ['an entry of a map', { labels: { a: 'b' } }, '2a060a0161120162'],
  ])('writes %s as protobuf has it', (_what, value, hex) => {
    expect(Outer.encode(value).toString('hex')).toBe(hex)
  })

  test('reads numbers that are not packed, and skips what it does not know', () => {
    expect(Outer.decode(Buffer.from('2003208e02', 'hex'))).toEqual({ numbers: [3, 270] })
    expect(Outer.decode(Buffer.from('a00601' + 'a20602ffff' + '4801', 'hex'))).toEqual({ isOn: true })
  })

  test.each([
    ...['0a', '0a05', '0a7f00', '3880', '30ffffffffffffffffffff01', 'a206ff', '0f'],
    // Numbers of 32 and 64 bits that are cut off, and a length of -12.
    ...['a506ff', 'a106ffff', '0a00a206f4ffffffffffffffff01'],
    // A field of an inner message that reaches beyond it.
    '0a02108038ff01',
  ])('%s is none', (hex) => {
    expect(() => Outer.decode(Buffer.from(hex, 'hex'))).toThrow(WireError)
  })
})
