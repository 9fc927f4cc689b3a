import { pemBlocks } from '../../api/kinds/certificates/pem.ts'

/** DER of the object identifier 2.5.4.10, organizationName. */
const ORGANIZATION = Buffer.from([0x55, 0x04, 0x0a])

/** The string types that mean the same bytes to everybody: UTF8String, PrintableString, IA5String. */
const PLAIN_STRINGS = new Set([0x0c, 0x13, 0x16])

interface Element {
  readonly tag: number
  readonly content: Buffer
  /** What follows the element in the bytes it was read from. */
  readonly rest: Buffer
}

/**
 * The organizations in the subject of a certificate request (PKCS #10, RFC 2986): in Kubernetes, groups. Throws if the
 * text is no such request.
 */
export function organizationsOf(pem: string): string[] {
  const der = pemBlocks(pem)[0]?.bytes
  if (!der) throw new Error('no PEM block')
  const info = element(element(der).content)
  const version = element(info.content)
  let names = element(version.rest).content
  const organizations: string[] = []
  while (names.length > 0) {
    const set = element(names)
    names = set.rest
    for (let pairs = set.content; pairs.length > 0; ) {
      const pair = element(pairs)
      pairs = pair.rest
      const type = element(pair.content)
      if (type.content.equals(ORGANIZATION)) organizations.push(textOf(element(type.rest)))
    }
  }
  return organizations
}

/** A text in an encoding that others may read as something else is not let through unread. */
function textOf({ tag, content }: Element): string {
  if (!PLAIN_STRINGS.has(tag)) throw new Error(`unsupported string type ${tag} in the subject`)
  return content.toString()
}

/** Reads one element: a tag, a length of one or more bytes, the content. */
function element(bytes: Buffer): Element {
  let at = 2
  let length = bytes[1] ?? -1
  if (length >= 0x80) {
    const count = length & 0x7f
    if (count === 0 || count > 4 || bytes.length < 2 + count) throw new Error('malformed DER')
    length = bytes.readUIntBE(2, count)
    at += count
  }
  if (length < 0 || bytes.length < at + length) throw new Error('malformed DER')
  return { tag: bytes[0]!, content: bytes.subarray(at, at + length), rest: bytes.subarray(at + length) }
}
