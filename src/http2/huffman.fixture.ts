import { HUFFMAN_LENGTHS } from './hpack-tables.ts'

/** By symbol, as digits. Codes of a length count upwards, and the next length goes on from there. */
const CODES = (() => {
  const codes: string[] = []
  let next = 0n
  for (let length = 1; length <= 30; length++, next <<= 1n) {
    for (const [symbol, bits] of HUFFMAN_LENGTHS.entries()) {
      if (bits === length) codes[symbol] = (next++).toString(2).padStart(length, '0')
    }
  }
  return codes
})()

/** The slow way: digits of all symbols after each other. */
export const huffmanBits = (...symbols: number[]): string => symbols.map((symbol) => CODES[symbol]!).join('')

/** Filled up with ones, as it must be, unless told otherwise. */
export function packBits(bits: string, padding = '1111111'): Buffer {
  const whole = bits + padding.slice(0, (8 - (bits.length % 8)) % 8)
  return Buffer.from(whole.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
}

export const huffmanEncode = (text: string): Buffer => packBits(huffmanBits(...Buffer.from(text, 'latin1')))
