import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { extension, generalName, pem, subjectName } from './certificate.ts'
import { bitString, contextTag, integer, objectIdentifier, sequence, set } from './der.ts'
import { ECDSA_WITH_SHA256, EXTENSION, EXTENSION_REQUEST } from './object-identifiers.ts'

export interface RequestedSubject {
  readonly commonName: string
  readonly organizations?: readonly string[]
  /** DNS names and IP addresses. */
  readonly subjectAltNames?: readonly string[]
}

/** Makes a request for a certificate of the P-256 key given as PEM (PKCS #10, RFC 2986). Returns PEM. */
export function createCertificateSigningRequest(key: string, subject: RequestedSubject): string {
  const privateKey = createPrivateKey(key)
  const names = subject.subjectAltNames ?? []
  const asked = extension(EXTENSION.subjectAltName, sequence(...names.map(generalName)))
  const attributes = names.length > 0 ? [sequence(objectIdentifier(EXTENSION_REQUEST), set(sequence(asked)))] : []
  const body = sequence(
    integer(Buffer.from([0])),
    subjectName(subject),
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    contextTag(0, Buffer.concat(attributes)),
  )
  const algorithm = sequence(objectIdentifier(ECDSA_WITH_SHA256))
  return pem(sequence(body, algorithm, bitString(sign('sha256', body, privateKey))), 'CERTIFICATE REQUEST')
}
