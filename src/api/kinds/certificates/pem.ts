/** PEM blocks of a text: their types and bytes. Text between blocks is ignored. */
const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([^-]*)-----END \1-----/g

export interface PemBlock {
  readonly type: string
  readonly hasHeaders: boolean
  readonly bytes: Buffer
}

export function pemBlocks(text: string): PemBlock[] {
  return [...text.matchAll(BLOCK)].map(([, type = '', body = '']) => ({
    type,
    hasHeaders: body.includes(':'),
    bytes: Buffer.from(body, 'base64'),
  }))
}

/** Is this one DER sequence that fills the bytes exactly? Enough to tell data from noise. */
export function isDerSequence(bytes: Buffer): boolean {
  if (bytes.length < 2 || bytes[0] !== 0x30) return false
  const first = bytes[1]!
  if (first < 0x80) return bytes.length === 2 + first
  const width = first & 0x7f
  if (width === 0 || width > 4 || bytes.length < 2 + width) return false
  return bytes.length === 2 + width + bytes.readUIntBE(2, width)
}
