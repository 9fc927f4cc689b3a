import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import type { AdmissionPlugin } from './plugin.ts'

/** Who asks for a certificate is what the server knows of them, never what they say of themselves. */
export const certificateRequester: AdmissionPlugin = {
  name: 'CertificateRequester',
  admit({ operation, kind, draft, user }) {
    if (operation !== 'CREATE' || kind.group !== 'certificates.k8s.io' || kind.kind !== 'CertificateSigningRequest')
      return
    const request = draft as CertificateSigningRequest
    request.spec = {
      ...request.spec,
      username: user.name,
      groups: [...user.groups],
      ...(user.uid && { uid: user.uid }),
      ...(user.extra && {
        extra: Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]])),
      }),
    }
  },
}
