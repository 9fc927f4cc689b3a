import { X509Certificate } from 'node:crypto'
import type { ControlPlaneContext } from '../../controllers/all.ts'
import type { ClusterCertificates } from '../certificates.ts'

/** The cluster's authority, as the controller that issues certificates needs it. */
export function certificateSigner({ ca, certify }: ClusterCertificates): ControlPlaneContext['certificateSigner'] {
  return {
    get notAfter() {
      return Date.parse(new X509Certificate(ca.cert).validTo)
    },
    sign: ({ publicKey, ...certificate }) => certify(publicKey, { ...certificate, commonName: '', usage: 'client' }),
  }
}
