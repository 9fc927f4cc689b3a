/** The little of ASN.1 DER (ITU-T X.690) that certificates need. Every function returns one whole element. */

function element(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), length(content.length), content])
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size])
  if (size < 0x100) return Buffer.from([0x81, size])
  if (size < 0x10000) return Buffer.from([0x82, size >> 8, size & 0xff])
  return Buffer.from([0x83, size >> 16, (size >> 8) & 0xff, size & 0xff])
}

export const sequence = (...items: Buffer[]) => element(0x30, Buffer.concat(items))
export const octetString = (content: Buffer) => element(0x04, content)
export const utf8String = (text: string) => element(0x0c, Buffer.from(text, 'utf8'))
export const boolean = (value: boolean) => element(0x01, Buffer.from([value ? 0xff : 0]))

/** DER wants the elements of a set in the order of their bytes. */
export const set = (...items: Buffer[]) => element(0x31, Buffer.concat(items.toSorted(Buffer.compare)))

/** A tag the surrounding type gives its meaning; `constructed` if it wraps whole elements. */
export const contextTag = (tag: number, content: Buffer, constructed = true) =>
  element((constructed ? 0xa0 : 0x80) | tag, content)

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Buffer): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0 && bytes[start + 1]! < 0x80) start++
  const trimmed = bytes.subarray(start)
  return element(0x02, trimmed[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), trimmed]) : trimmed)
}

/** Whole bytes of bits, or the leading bits of one byte with `unused` at its end. */
export const bitString = (bytes: Buffer, unused = 0) => element(0x03, Buffer.concat([Buffer.from([unused]), bytes]))

/** `1.2.840.10045.4.3.2` */
export function objectIdentifier(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split('.').map(Number) as [number, number, ...number[]]
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}

/** UTCTime up to 2049, GeneralizedTime after, as RFC 5280 4.1.2.5 demands. */
export function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replace(/[-:T]/g, '').slice(0, 14)
  const late = digits >= '2050'
  return element(late ? 0x18 : 0x17, Buffer.from(`${late ? digits : digits.slice(2)}Z`, 'ascii'))
}
