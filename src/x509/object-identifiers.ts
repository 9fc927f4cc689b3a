/** Object identifiers of X.509 (RFC 5280), PKCS #10 (RFC 2986) and their algorithms. */
export const COMMON_NAME = '2.5.4.3'
export const ORGANIZATION = '2.5.4.10'
export const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'

export const EXTENSION = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
}

export const EXTENDED_KEY_USAGE = { serverAuth: '1.3.6.1.5.5.7.3.1', clientAuth: '1.3.6.1.5.5.7.3.2' }

export const EC_PUBLIC_KEY = '1.2.840.10045.2.1'
export const CURVE_P256 = '1.2.840.10045.3.1.7'
export const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'

/** Signature algorithms by their hash; Ed25519 hashes by itself. */
export const SIGNATURE_HASH: ReadonlyMap<string, string | null> = new Map([
  [ECDSA_WITH_SHA256, 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.3.101.112', null],
])
