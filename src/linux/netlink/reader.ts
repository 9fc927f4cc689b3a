export interface NetlinkMessage {
  readonly type: number
  readonly flags: number
  readonly sequence: number
  /** A view into the receive buffer: copy what must outlive the next receive. */
  readonly data: Buffer
}

/** Attributes by type; of several with one type the last. */
export type Attributes = Map<number, Buffer>

const TYPE_MASK = 0x3fff
const aligned = (length: number) => (length + 3) & ~3

export function* messagesIn(bytes: Buffer): Generator<NetlinkMessage> {
  let at = 0
  while (at + 16 <= bytes.length) {
    const length = bytes.readUInt32LE(at)
    if (length < 16 || at + length > bytes.length) return
    yield {
      type: bytes.readUInt16LE(at + 4),
      flags: bytes.readUInt16LE(at + 6),
      sequence: bytes.readUInt32LE(at + 8),
      data: bytes.subarray(at + 16, at + length),
    }
    at += aligned(length)
  }
}

/** Calls back instead of yielding: dumps of tens of thousands of elements come through here. */
export function eachAttribute(bytes: Buffer, start: number, visit: (type: number, value: Buffer) => void): void {
  let at = start
  while (at + 4 <= bytes.length) {
    const length = bytes.readUInt16LE(at)
    if (length < 4 || at + length > bytes.length) return
    visit(bytes.readUInt16LE(at + 2) & TYPE_MASK, bytes.subarray(at + 4, at + length))
    at += aligned(length)
  }
}

export function attributesOf(bytes: Buffer, start = 0): Attributes {
  const attributes: Attributes = new Map()
  eachAttribute(bytes, start, (type, value) => attributes.set(type, value))
  return attributes
}

/** The attributes nested in one, or none. */
export const nested = (attributes: Attributes, type: number): Attributes => {
  const bytes = attributes.get(type)
  return bytes ? attributesOf(bytes) : new Map()
}

export function textOf(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end)
}

export const textIn = (attributes: Attributes, type: number): string | undefined => {
  const bytes = attributes.get(type)
  return bytes && textOf(bytes)
}

/** The bytes of an attribute that is there and long enough. */
function bytesIn(attributes: Attributes, type: number, length: number): Buffer | undefined {
  const bytes = attributes.get(type)
  return bytes && bytes.length >= length ? bytes : undefined
}

export const u32In = (attributes: Attributes, type: number) => bytesIn(attributes, type, 4)?.readUInt32LE(0)
export const be32In = (attributes: Attributes, type: number) => bytesIn(attributes, type, 4)?.readUInt32BE(0)
export const be16In = (attributes: Attributes, type: number) => bytesIn(attributes, type, 2)?.readUInt16BE(0)
export const be64In = (attributes: Attributes, type: number) => bytesIn(attributes, type, 8)?.readBigUInt64BE(0)
