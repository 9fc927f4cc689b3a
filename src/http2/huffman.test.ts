import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HpackError } from './hpack-error.ts'
import { END_OF_STRING, HUFFMAN_LENGTHS } from './hpack-tables.ts'
import { huffmanBits, huffmanEncode, packBits } from './huffman.fixture.ts'
import { huffmanDecode } from './huffman.ts'

const decode = (bytes: Buffer) => huffmanDecode(bytes, 0, bytes.length)
const X = 'x'.charCodeAt(0)

describe('huffmanDecode', () => {
  it('has a code that is complete: each string of bits is the beginning of something', () => {
    expect(HUFFMAN_LENGTHS).toHaveLength(257)
    expect(HUFFMAN_LENGTHS.reduce((sum, length) => sum + 2 ** -length, 0)).toBe(1)
  })

  // The strings of RFC 7541, C.4 and C.6.
  it.each([
    ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
    ['a8eb10649cbf', 'no-cache'],
    ['25a849e95ba97d7f', 'custom-key'],
    ['25a849e95bb8e8b4bf', 'custom-value'],
    ['6402', '302'],
    ['aec3771a4b', 'private'],
    ['d07abe941054d444a8200595040b8166e082a62d1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
    ['9d29ad171863c78f0b97c8e9ae82ae43d3', 'https://www.example.com'],
    ['', ''],
  ])('reads %s', (hex, text) => {
    expect(decode(Buffer.from(hex, 'hex'))).toBe(text)
  })

  it('reads every byte, wherever in a byte its code begins', () => {
    for (let symbol = 0; symbol < END_OF_STRING; symbol++) {
      for (let before = 0; before < 8; before++) {
        const text = '0'.repeat(before) + String.fromCharCode(symbol)
        expect(decode(huffmanEncode(text))).toBe(text)
      }
    }
  })

  it('reads strings for which it keeps no room', () => {
    const text = '/api/v1/'.repeat(5000)
    expect(decode(huffmanEncode(text)) === text).toBe(true)
  })

  it('reads any string, between others', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 50 }),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    )
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = huffmanEncode(text)
        const between = Buffer.concat([Buffer.from('ab'), bytes, Buffer.from('cd')])
        expect(huffmanDecode(between, 2, 2 + bytes.length)).toBe(text)
      }),
      { seed: 7 },
    )
  })

  it.each([
    ['the end of the string', packBits(huffmanBits(X, END_OF_STRING))],
    ['the end of the string and more', packBits(huffmanBits(X, END_OF_STRING, X))],
    ['a byte of padding', Buffer.concat([packBits(huffmanBits(X)), Buffer.of(0xff)])],
    ['padding only', Buffer.of(0xff)],
    ['much padding', Buffer.alloc(3, 0xff)],
    ['zeros as padding', packBits(huffmanBits(X), '0000000')],
    ['padding with a zero at its end', packBits(huffmanBits(X, X), '1111110'.slice(-2))],
    ['a symbol that is cut off', packBits(huffmanBits(0)).subarray(0, 1)],
  ])('refuses %s', (_, bytes) => {
    expect(() => decode(bytes)).toThrow(HpackError)
  })
})
