/** One element of ASN.1 DER: its tag, what is in it, and all of its bytes. */
export interface DerElement {
  readonly tag: number
  readonly content: Buffer
  readonly bytes: Buffer
}

export const TAG = { integer: 0x02, bitString: 0x03, octetString: 0x04, oid: 0x06, sequence: 0x30, set: 0x31 }

/** The elements that fill these bytes. Throws where the bytes are no DER. */
export function readElements(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = []
  for (let at = 0; at < bytes.length; ) {
    const { start, end } = extentOf(bytes, at)
    elements.push({ tag: bytes[at]!, content: bytes.subarray(start, end), bytes: bytes.subarray(at, end) })
    at = end
  }
  return elements
}

/** The parts of an element that must have this tag. */
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
  if (element?.tag !== TAG.oid) throw new Error('asn1: structure error: an object identifier is missing')
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
