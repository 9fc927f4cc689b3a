/** Standard base64 with padding, as `format: byte` fields carry it; line breaks are tolerated. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

export function isBase64(text: string): boolean {
  const line = text.includes('\n') || text.includes('\r') ? text.replace(/[\r\n]/g, '') : text
  return line.length % 4 === 0 && BASE64.test(line)
}

/** How many bytes a base64 text stands for, without decoding it. */
export function base64Bytes(text: string): number {
  return Buffer.byteLength(text, 'base64')
}
