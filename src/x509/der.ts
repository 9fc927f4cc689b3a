/** The part of ASN.1 DER (ITU-T X.690) that certificates need: writing below, reading at the end. */

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

function element(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), length(content.length), content])
}

function length(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size])
  if (size < 0x100) return Buffer.from([0x81, size])
  if (size < 0x10000) return Buffer.from([0x82, size >> 8, size & 0xff])
  return Buffer.from([0x83, size >> 16, (size >> 8) & 0xff, size & 0xff])
}

export const sequence = (...items: Buffer[]) => element(TAG.sequence, Buffer.concat(items))
export const octetString = (content: Buffer) => element(TAG.octetString, content)
export const utf8String = (text: string) => element(TAG.utf8String, Buffer.from(text, 'utf8'))
export const boolean = (value: boolean) => element(TAG.boolean, Buffer.from([value ? 0xff : 0]))

/** DER orders the elements of a set by their bytes. */
export const set = (...items: Buffer[]) => element(TAG.set, Buffer.concat(items.toSorted(Buffer.compare)))

/** A tag whose meaning depends on the surrounding type; `constructed` if it wraps whole elements. */
export const contextTag = (tag: number, content: Buffer, constructed = true) =>
  element((constructed ? 0xa0 : 0x80) | tag, content)

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Buffer): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0 && bytes[start + 1]! < 0x80) start++
  const trimmed = bytes.subarray(start)
  return element(TAG.integer, trimmed[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), trimmed]) : trimmed)
}

/** Whole bytes of bits, or the leading bits of one byte with `unused` at its end. */
export const bitString = (bytes: Buffer, unused = 0) =>
  element(TAG.bitString, Buffer.concat([Buffer.from([unused]), bytes]))

/** `1.2.840.10045.4.3.2` */
export function objectIdentifier(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split('.').map(Number) as [number, number, ...number[]]
  return element(TAG.objectIdentifier, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}

/** UTCTime up to 2049, GeneralizedTime after (RFC 5280 4.1.2.5). */
export function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replace(/[-:T]/g, '').slice(0, 14)
  const late = digits >= '2050'
  return element(late ? TAG.generalizedTime : TAG.utcTime, Buffer.from(`${late ? digits : digits.slice(2)}Z`, 'ascii'))
}

/** One element that was read: its tag, its content, and all of its bytes. */
export interface DerElement {
  readonly tag: number
  readonly content: Buffer
  readonly bytes: Buffer
}

/** Reads the elements that fill these bytes. Throws if the bytes are not DER. */
export function readElements(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = []
  for (let at = 0; at < bytes.length; ) {
    const { start, end } = extentOf(bytes, at)
    elements.push({ tag: bytes[at]!, content: bytes.subarray(start, end), bytes: bytes.subarray(at, end) })
    at = end
  }
  return elements
}

/** Reads the parts of an element; throws unless it has this tag. */
export function partsOf(element: DerElement | undefined, tag: number): DerElement[] {
  if (element?.tag !== tag) throw new Error('asn1: structure error: an element of another type was expected')
  return readElements(element.content)
}

function extentOf(bytes: Buffer, at: number): { start: number; end: number } {
  const first = bytes[at + 1]
  if (first === undefined) throw new Error('asn1: syntax error: truncated tag or length')
  const width = first < 0x80 ? 0 : first & 0x7f
  const start = at + 2 + width
  if (width > 4 || first === 0x80 || start > bytes.length)
    throw new Error('asn1: syntax error: truncated tag or length')
  const length = width === 0 ? first : bytes.readUIntBE(at + 2, width)
  if (start + length > bytes.length) throw new Error('asn1: syntax error: data truncated')
  return { start, end: start + length }
}

/** `1.2.840.10045.4.3.2` */
export function objectIdentifierOf(element: DerElement | undefined): string {
  if (element?.tag !== TAG.objectIdentifier) throw new Error('asn1: structure error: an object identifier is missing')
  const numbers: number[] = []
  let value = 0
  for (const byte of element.content) {
    value = value * 128 + (byte & 0x7f)
    if (byte >= 0x80) continue
    numbers.push(value)
    value = 0
  }
  const [head = 0, ...rest] = numbers
  const first = Math.min(Math.trunc(head / 40), 2)
  return [first, head - first * 40, ...rest].join('.')
}
