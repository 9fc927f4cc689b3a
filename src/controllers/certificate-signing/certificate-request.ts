import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { pemBlocks } from '../../api/kinds/certificates/pem.ts'
import { formatIP, parseIP } from '../../base/ip-address.ts'
import { type DerElement, objectIdentifierOf, partsOf, readElements, TAG } from './der-reader.ts'

/** What somebody who holds a private key asks to be certified (PKCS #10, RFC 2986). */
export interface CertificateRequest {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** The DER of the whole subject. */
  readonly subject: Buffer
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  readonly emailAddresses: readonly string[]
  readonly uris: readonly string[]
  readonly publicKey: KeyObject
}

const COMMON_NAME = '2.5.4.3'
const ORGANIZATION = '2.5.4.10'
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'
const SUBJECT_ALT_NAME = '2.5.29.17'
const ATTRIBUTES_TAG = 0xa0
/** Kinds of names in a subjectAltName, by their tags. */
const NAME_TAG = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 }
/** The hash of each way to sign; Ed25519 has its own. */
const SIGNATURE_HASH = new Map<string, string | null>([
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.3.101.112', null],
])

/** From base64 of PEM, as it stands in the API. Throws if it is none, or is not signed by the key it holds. */
export function parseCertificateRequest(base64: string): CertificateRequest {
  const block = pemBlocks(Buffer.from(base64, 'base64').toString())[0]
  if (block?.type !== 'CERTIFICATE REQUEST') throw new Error('PEM block type must be CERTIFICATE REQUEST')
  const [info, algorithm, signature] = partsOf(readElements(block.bytes)[0], TAG.sequence)
  const [, subject, spki, attributes] = partsOf(info, TAG.sequence)
  if (!info || !subject || !spki) throw new Error('asn1: structure error: malformed certificate request')
  const publicKey = createPublicKey({ key: spki.bytes, format: 'der', type: 'spki' })
  checkSignature(info, algorithm, signature, publicKey)
  const attribute = (type: string) => namesIn(subject).flatMap(([oid, value]) => (oid === type ? [value] : []))
  return {
    commonName: attribute(COMMON_NAME).at(-1) ?? '',
    organizations: attribute(ORGANIZATION),
    subject: subject.bytes,
    publicKey,
    ...alternativeNames(attributes),
  }
}

function checkSignature(
  info: DerElement,
  algorithm: DerElement | undefined,
  signature: DerElement | undefined,
  key: KeyObject,
): void {
  const hash = SIGNATURE_HASH.get(objectIdentifierOf(partsOf(algorithm, TAG.sequence)[0]))
  if (hash === undefined) throw new Error('x509: cannot verify signature: algorithm unimplemented')
  // The first byte of a bit string counts the unused bits at its end.
  const isGood = signature?.tag === TAG.bitString && verify(hash, info.bytes, key, signature.content.subarray(1))
  if (!isGood) throw new Error('x509: the certificate request is not signed by the key it holds')
}

/** Pairs of attribute type and value of a subject. */
function namesIn(subject: DerElement): [string, string][] {
  return partsOf(subject, TAG.sequence).flatMap((set) =>
    partsOf(set, TAG.set).map((pair): [string, string] => {
      const [type, value] = partsOf(pair, TAG.sequence)
      return [objectIdentifierOf(type), value?.content.toString('utf8') ?? '']
    }),
  )
}

type AlternativeNames = Pick<CertificateRequest, 'dnsNames' | 'ipAddresses' | 'emailAddresses' | 'uris'>

function alternativeNames(attributes: DerElement | undefined): AlternativeNames {
  const names = requestedExtensions(attributes)
    .filter(([type]) => type === SUBJECT_ALT_NAME)
    .flatMap(([, value]) => partsOf(readElements(value)[0], TAG.sequence))
  const texts = (tag: number) =>
    names.filter((name) => name.tag === tag).map(({ content }) => content.toString('latin1'))
  return {
    dnsNames: texts(NAME_TAG.dns),
    emailAddresses: texts(NAME_TAG.email),
    uris: texts(NAME_TAG.uri),
    ipAddresses: names.filter((name) => name.tag === NAME_TAG.ip).map(({ content }) => ipText(content)),
  }
}

function requestedExtensions(attributes: DerElement | undefined): [string, Buffer][] {
  if (attributes?.tag !== ATTRIBUTES_TAG) return []
  const requests = readElements(attributes.content)
    .map((attribute) => partsOf(attribute, TAG.sequence))
    .filter(([type]) => objectIdentifierOf(type) === EXTENSION_REQUEST)
  return requests
    .flatMap(([, values]) => partsOf(values, TAG.set))
    .flatMap((extensions) => partsOf(extensions, TAG.sequence))
    .map((extension): [string, Buffer] => {
      const parts = partsOf(extension, TAG.sequence)
      return [objectIdentifierOf(parts[0]), parts.at(-1)?.content ?? Buffer.alloc(0)]
    })
}

function ipText(bytes: Buffer): string {
  const text = bytes.length === 4 ? bytes.join('.') : bytes.toString('hex').match(/.{4}/g)?.join(':')
  const ip = parseIP(text ?? '')
  if (!ip) throw new Error(`x509: cannot parse IP address of length ${bytes.length}`)
  return formatIP(ip)
}
