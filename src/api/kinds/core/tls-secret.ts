import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Secret } from '../../generated/core-v1.ts'
import { SECRET_TYPE } from '../../meta/well-known.ts'
import { pemBlocks } from '../certificates/pem.ts'

/** A TLS secret that cannot work is stored all the same, but its owner is told. */
export function tlsSecretWarnings({ type, data }: Secret): string[] {
  if (type !== SECRET_TYPE.tls) return []
  const [certificate, key] = [decoded(data?.['tls.crt']), decoded(data?.['tls.key'])]
  if (pemBlocks(certificate).length === 0) return ['tls: failed to find any PEM data in certificate input']
  if (pemBlocks(key).length === 0) return ['tls: failed to find any PEM data in key input']
  try {
    const matches = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
    return matches ? [] : ['tls: private key does not match public key']
  } catch {
    return ['tls: failed to parse the certificate or its private key']
  }
}

const decoded = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString()
