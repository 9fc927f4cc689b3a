import { pemBlocks } from '../../api/kinds/certificates/pem.ts'
import { organizationsOfRequest } from '../../x509/parse-signing-request.ts'

/** The organizations in the subject of a certificate request in PEM: groups, in Kubernetes. Throws if it is malformed. */
export function organizationsOf(pem: string): string[] {
  const der = pemBlocks(pem)[0]?.bytes
  if (!der) throw new Error('no PEM block')
  return organizationsOfRequest(der)
}
