import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { formatIP, parseIP } from '../base/ip-address.ts'
import { type DerElement, objectIdentifierOf, partsOf, readElements, TAG } from './der.ts'
import { COMMON_NAME, EXTENSION, EXTENSION_REQUEST, ORGANIZATION, SIGNATURE_HASH } from './object-identifiers.ts'

/** What the holder of a private key asks a CA to certify (PKCS #10, RFC 2986). */
export interface SigningRequest {
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

const ATTRIBUTES_TAG = 0xa0
/** Kinds of names in a subjectAltName, by their tags. */
const NAME_TAG = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 }

/** Parses the DER of a request. Throws if it is malformed, or not signed by the key it holds. */
export function parseSigningRequest(der: Buffer): SigningRequest {
  const [info, algorithm, signature] = partsOf(readElements(der)[0], TAG.sequence)
  const [, subject, spki, attributes] = partsOf(info, TAG.sequence)
  if (!info || !subject || !spki) throw new Error('asn1: structure error: malformed certificate request')
  const publicKey = createPublicKey({ key: spki.bytes, format: 'der', type: 'spki' })
  checkSignature(info, algorithm, signature, publicKey)
  const names = namesIn(subject)
  const attribute = (type: string) =>
    names.filter(({ oid }) => oid === type).map(({ value }) => String(value?.content ?? ''))
  return {
    commonName: attribute(COMMON_NAME).at(-1) ?? '',
    organizations: attribute(ORGANIZATION),
    subject: subject.bytes,
    publicKey,
    ...alternativeNames(attributes),
  }
}

/** String types that every reader decodes alike. */
const PLAIN_STRINGS: ReadonlySet<number> = new Set([TAG.utf8String, TAG.printableString, TAG.ia5String])

/**
 * The organizations in the subject of a request: groups, in Kubernetes. The signature is not checked. Throws on a string
 * type that another reader could decode differently.
 */
export function organizationsOfRequest(der: Buffer): string[] {
  const [info] = partsOf(readElements(der)[0], TAG.sequence)
  const [, subject] = partsOf(info, TAG.sequence)
  if (!subject) throw new Error('asn1: structure error: malformed certificate request')
  return namesIn(subject)
    .filter(({ oid }) => oid === ORGANIZATION)
    .map(({ value }) => {
      if (!value || !PLAIN_STRINGS.has(value.tag))
        throw new Error(`unsupported string type ${value?.tag} in the subject`)
      return value.content.toString()
    })
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

interface SubjectAttribute {
  readonly oid: string
  readonly value: DerElement | undefined
}

function namesIn(subject: DerElement): SubjectAttribute[] {
  return partsOf(subject, TAG.sequence).flatMap((set) =>
    partsOf(set, TAG.set).map((pair) => {
      const [type, value] = partsOf(pair, TAG.sequence)
      return { oid: objectIdentifierOf(type), value }
    }),
  )
}

type AlternativeNames = Pick<SigningRequest, 'dnsNames' | 'ipAddresses' | 'emailAddresses' | 'uris'>

function alternativeNames(attributes: DerElement | undefined): AlternativeNames {
  const names = requestedExtensions(attributes)
    .filter(([type]) => type === EXTENSION.subjectAltName)
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
