/** Standard base64 with padding, as `format: byte` fields carry it; line breaks are tolerated. */
const BASE64 = /^(?:[A-Za-z0-9+/]|[\r\n])*={0,2}[\r\n]*$/

export function isBase64(text: string): boolean {
  if (!BASE64.test(text)) return false
  return (text.includes('\n') || text.includes('\r') ? text.replace(/[\r\n]/g, '') : text).length % 4 === 0
}

/** How many bytes a base64 text stands for, without decoding it. */
export function base64Bytes(text: string): number {
  return Buffer.byteLength(text, 'base64')
}
