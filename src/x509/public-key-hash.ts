import { createHash, X509Certificate } from 'node:crypto'

/** Names a CA as kubeadm does: `sha256:` and the hash of the public key of a certificate in PEM. */
export const publicKeyHash = (certificate: string) =>
  `sha256:${createHash('sha256')
    .update(new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')}`
