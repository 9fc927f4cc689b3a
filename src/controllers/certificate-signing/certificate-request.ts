import { pemBlocks } from '../../api/kinds/certificates/pem.ts'
import { parseSigningRequest, type SigningRequest } from '../../x509/parse-signing-request.ts'

export type CertificateRequest = SigningRequest

/** Parses base64 of PEM, the form in the API. Throws if it is malformed, or not signed by the key it holds. */
export function parseCertificateRequest(base64: string): CertificateRequest {
  const block = pemBlocks(Buffer.from(base64, 'base64').toString())[0]
  if (block?.type !== 'CERTIFICATE REQUEST') throw new Error('PEM block type must be CERTIFICATE REQUEST')
  return parseSigningRequest(block.bytes)
}
