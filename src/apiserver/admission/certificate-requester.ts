import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import type { Kind } from '../../api/kind.ts'
import type { AdmissionPlugin } from './plugin.ts'

export const SIGNING_REQUESTS = { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }
export const isSigningRequest = ({ group, plural }: Kind) =>
  group === SIGNING_REQUESTS.group && plural === SIGNING_REQUESTS.resource

/** Who asks for a certificate is what the server knows of them, never what they say of themselves. */
export const certificateRequester: AdmissionPlugin = {
  name: 'CertificateRequester',
  resources: ['certificatesigningrequests.certificates.k8s.io'],
  admit({ operation, kind, draft, user }) {
    if (operation !== 'CREATE' || !isSigningRequest(kind)) return
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
