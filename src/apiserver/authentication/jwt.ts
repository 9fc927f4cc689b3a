import { constants, createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** A key that signs or checks tokens, with the one algorithm it is for. */
export interface TokenKey {
  readonly id: string
  readonly algorithm: Algorithm
  readonly key: KeyObject
}

export type Algorithm = keyof typeof ALGORITHMS

/** RFC 7518. Only signatures by key pairs: whoever can check a token must not be able to make one. */
const ALGORITHMS = {
  RS256: { hash: 'sha256', type: 'rsa', curve: undefined },
  RS384: { hash: 'sha384', type: 'rsa', curve: undefined },
  RS512: { hash: 'sha512', type: 'rsa', curve: undefined },
  PS256: { hash: 'sha256', type: 'rsa', curve: undefined, padding: constants.RSA_PKCS1_PSS_PADDING },
  PS384: { hash: 'sha384', type: 'rsa', curve: undefined, padding: constants.RSA_PKCS1_PSS_PADDING },
  PS512: { hash: 'sha512', type: 'rsa', curve: undefined, padding: constants.RSA_PKCS1_PSS_PADDING },
  ES256: { hash: 'sha256', type: 'ec', curve: 'prime256v1' },
  ES384: { hash: 'sha384', type: 'ec', curve: 'secp384r1' },
  ES512: { hash: 'sha512', type: 'ec', curve: 'secp521r1' },
} as const

export interface DecodedJwt {
  readonly header: { readonly alg?: unknown; readonly kid?: unknown }
  readonly claims: Readonly<Record<string, unknown>>
  /** What was signed, and the signature. */
  readonly signed: string
  readonly signature: Buffer
}

/** Longer ones are nobody's token. */
const MAX_LENGTH = 64 * 1024
const BASE64URL = /^[A-Za-z0-9_-]+$/

/** Reads a token without believing it; undefined if it is none. */
export function decodeJwt(token: string): DecodedJwt | undefined {
  if (token.length > MAX_LENGTH) return undefined
  const parts = token.split('.')
  if (parts.length !== 3 || !parts.every((part) => BASE64URL.test(part))) return undefined
  const header = parsePart(parts[0]!)
  const claims = parsePart(parts[1]!)
  if (!header || !claims) return undefined
  const signed = token.slice(0, token.lastIndexOf('.'))
  return { header, claims, signed, signature: Buffer.from(parts[2]!, 'base64url') }
}

function parsePart(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether one of the keys made the signature. The key decides the algorithm, never the token: what the token says of it
 * must only agree.
 */
export function isSignedBy(jwt: DecodedJwt, keys: readonly TokenKey[]): boolean {
  const { alg, kid } = jwt.header
  return keys.some((key) => key.algorithm === alg && (kid === undefined || kid === key.id) && verifyWith(jwt, key))
}

function verifyWith({ signed, signature }: DecodedJwt, { key, algorithm }: TokenKey): boolean {
  try {
    return verify(ALGORITHMS[algorithm].hash, Buffer.from(signed), signatureOptions(key, algorithm), signature)
  } catch {
    return false
  }
}

function signatureOptions(key: KeyObject, algorithm: Algorithm) {
  const form = ALGORITHMS[algorithm]
  const salted = 'padding' in form && {
    padding: form.padding,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  }
  return { key, dsaEncoding: 'ieee-p1363' as const, ...salted }
}

export function signJwt(claims: object, { id, algorithm, key }: TokenKey): string {
  const header = { alg: algorithm, kid: id }
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign(ALGORITHMS[algorithm].hash, Buffer.from(signed), signatureOptions(key, algorithm))
  return `${signed}.${signature.toString('base64url')}`
}

/** The algorithms a key is for: those that its type and curve fit, or the one of them that its publisher names. */
export function algorithmsOf(key: KeyObject, told?: unknown): Algorithm[] {
  const type = key.asymmetricKeyType
  const curve = key.asymmetricKeyDetails?.namedCurve
  return (Object.keys(ALGORITHMS) as Algorithm[]).filter(
    (name) =>
      ALGORITHMS[name].type === type &&
      (type === 'rsa' || ALGORITHMS[name].curve === curve) &&
      (told === undefined || told === name),
  )
}

/** Both halves of a private key in PEM. Its id is the hash of the public half, as Kubernetes forms it. */
export function keyPairOf(pem: string): { readonly signing: TokenKey; readonly checking: TokenKey } {
  const privateKey = createPrivateKey(pem)
  const checking = checkingKey(createPublicKey(pem))
  return { signing: { ...checking, key: privateKey }, checking }
}

export function checkingKey(key: KeyObject): TokenKey {
  const [algorithm] = algorithmsOf(key)
  if (!algorithm) throw new Error('keys of tokens are RSA, or EC on P-256, P-384 or P-521')
  const id = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
  return { id, algorithm, key }
}

/** A public key as others read it (RFC 7517). */
export function jwkOf({ id, algorithm, key }: TokenKey): object {
  const { kty, ...rest } = key.export({ format: 'jwk' })
  return { use: 'sig', kty, kid: id, alg: algorithm, ...rest }
}
