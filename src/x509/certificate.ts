import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { parseIP } from '../base/ip-address.ts'
import {
  bitString,
  boolean,
  contextTag,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from './der.ts'
import {
  COMMON_NAME,
  CURVE_P256,
  EC_PUBLIC_KEY,
  ECDSA_WITH_SHA256,
  EXTENDED_KEY_USAGE,
  EXTENSION,
  ORGANIZATION,
} from './object-identifiers.ts'

/** A certificate and its private key, as PEM. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

export interface CertificateRequest {
  readonly commonName: string
  /** Kubernetes reads these as the groups of a user. */
  readonly organizations?: readonly string[]
  readonly usage: 'ca' | 'server' | 'client'
  /** Usages of a leaf as the certificates API names them; replaces `usage`. */
  readonly usages?: readonly string[]
  /** The DER of a whole subject name; replaces the two names above. */
  readonly subject?: Buffer
  /** DNS names and IP addresses a server answers to. */
  readonly subjectAltNames?: readonly string[]
  /** Milliseconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
}

const EXTENDED_USAGE = new Map([
  ['server auth', EXTENDED_KEY_USAGE.serverAuth],
  ['client auth', EXTENDED_KEY_USAGE.clientAuth],
])
/** Bits of KeyUsage, counted from the left. */
const KEY_USAGE = new Map([
  ['digital signature', 0b1000_0000],
  ['key encipherment', 0b0010_0000],
  ['cert sign', 0b0000_0100],
  ['crl sign', 0b0000_0010],
])
const USAGES = {
  ca: ['digital signature', 'cert sign', 'crl sign'],
  server: ['digital signature', 'server auth'],
  client: ['digital signature', 'client auth'],
}

/** Makes an X.509 v3 certificate with a fresh P-256 key, signed by `issuer`, or by itself when there is none. */
export function issueCertificate(request: CertificateRequest, issuer?: Issuer): KeyPair {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { key, spki } = encodeKey(privateKey)
  const signer = issuer ?? { name: subjectName(request), key: privateKey, keyId: keyIdOf(spki) }
  return { cert: certify(spki, request, signer), key }
}

const P256 = () => sequence(objectIdentifier(EC_PUBLIC_KEY), objectIdentifier(CURVE_P256))

/** PKCS #8 (RFC 5915) and SPKI of a P-256 key, from its numbers: OpenSSL's own encoders take several times as long. */
function encodeKey(privateKey: KeyObject): { key: string; spki: Buffer } {
  const { d = '', x = '', y = '' } = privateKey.export({ format: 'jwk' })
  const point = bitString(Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]))
  const secret = octetString(Buffer.from(d, 'base64url'))
  const numbers = sequence(integer(Buffer.from([1])), secret, contextTag(1, point))
  const pkcs8 = sequence(integer(Buffer.from([0])), P256(), octetString(numbers))
  return { key: pem(pkcs8, 'PRIVATE KEY'), spki: sequence(P256(), point) }
}

/** The CA that signs: made once from its key pair, used for every leaf. */
export interface Issuer {
  /** The DER of the subject name of the CA, byte for byte. */
  readonly name: Buffer
  readonly key: KeyObject
  readonly keyId: Buffer
}

export function createIssuer(ca: { commonName: string; organizations?: readonly string[] }, key: string): Issuer {
  const privateKey = createPrivateKey(key)
  return { name: subjectName(ca), key: privateKey, keyId: keyIdOf(spkiOf(createPublicKey(privateKey))) }
}

/** Signs a certificate for a public key. */
export function certifyKey(publicKey: KeyObject, request: CertificateRequest, issuer: Issuer): string {
  return certify(spkiOf(publicKey), request, issuer)
}

function certify(spki: Buffer, request: CertificateRequest, issuer: Issuer): string {
  const signatureAlgorithm = sequence(objectIdentifier(ECDSA_WITH_SHA256))
  const body = sequence(
    contextTag(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    signatureAlgorithm,
    issuer.name,
    sequence(time(request.notBefore), time(request.notAfter)),
    request.subject ?? subjectName(request),
    spki,
    contextTag(3, sequence(...extensions(spki, request, issuer))),
  )
  const signature = sign('sha256', body, issuer.key)
  return pem(sequence(body, signatureAlgorithm, bitString(signature)))
}

/** 126 random bits: positive, never zero, and far from any collision. */
function serialNumber(): Buffer {
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x3f) | 0x40
  return serial
}

export function subjectName(subject: { commonName: string; organizations?: readonly string[] }): Buffer {
  const attribute = (type: string, value: string) => set(sequence(objectIdentifier(type), utf8String(value)))
  return sequence(
    ...(subject.organizations ?? []).map((organization) => attribute(ORGANIZATION, organization)),
    attribute(COMMON_NAME, subject.commonName),
  )
}

function extensions(spki: Buffer, request: CertificateRequest, issuer: Issuer): Buffer[] {
  const ca = request.usage === 'ca'
  const usages = request.usages ?? USAGES[request.usage]
  const bits = usages.reduce((sum, usage) => sum | (KEY_USAGE.get(usage) ?? 0), 0)
  const list = [
    // An empty KeyUsage would forbid every use; without the extension the extended key usages decide.
    ...(bits === 0 ? [] : [extension(EXTENSION.keyUsage, keyUsage(bits), true)]),
    extension(EXTENSION.basicConstraints, ca ? sequence(boolean(true)) : sequence(), true),
    extension(EXTENSION.subjectKeyIdentifier, octetString(keyIdOf(spki))),
    extension(EXTENSION.authorityKeyIdentifier, sequence(contextTag(0, issuer.keyId, false))),
  ]
  const extended = usages.flatMap((usage) => EXTENDED_USAGE.get(usage) ?? [])
  if (extended.length > 0) list.push(extension(EXTENSION.extendedKeyUsage, sequence(...extended.map(objectIdentifier))))
  const names = request.subjectAltNames ?? []
  if (names.length > 0) list.push(extension(EXTENSION.subjectAltName, sequence(...names.map(generalName))))
  return list
}

/** DER allows no trailing zero bits. */
function keyUsage(bits: number): Buffer {
  return bitString(Buffer.from([bits]), 31 - Math.clz32(bits & -bits))
}

export function extension(id: string, value: Buffer, critical = false): Buffer {
  return sequence(objectIdentifier(id), ...(critical ? [boolean(true)] : []), octetString(value))
}

export function generalName(name: string): Buffer {
  const ip = parseIP(name)
  if (ip) {
    const hex = ip.value.toString(16).padStart(ip.family === 'IPv4' ? 8 : 32, '0')
    return contextTag(7, Buffer.from(hex, 'hex'), false)
  }
  return contextTag(2, Buffer.from(name, 'ascii'), false)
}

const spkiOf = (publicKey: KeyObject): Buffer => publicKey.export({ type: 'spki', format: 'der' })

/** RFC 5280 4.2.1.2, method 1: the SHA-1 of the public key's bits. For P-256 these are the last 65 bytes of its SPKI. */
function keyIdOf(spki: Buffer): Buffer {
  return createHash('sha1')
    .update(spki.subarray(spki.length - 65))
    .digest()
}

export function pem(der: Buffer, type = 'CERTIFICATE'): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${type}-----\n${lines.join('\n')}\n-----END ${type}-----\n`
}
