import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import { SIGNER } from '../../api/meta/well-known.ts'
import { isSigningRequest, SIGNING_REQUESTS } from './certificate-requester.ts'
import { organizationsOf } from './certificate-subject.ts'
import type { AdmissionPlugin } from './plugin.ts'

const MASTERS = 'system:masters'

/** Nobody asks for a certificate that makes them almighty. */
export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  resources: ['certificatesigningrequests.certificates.k8s.io'],
  validate({ operation, kind, subresource, draft, name }) {
    if (operation !== 'CREATE' || !isSigningRequest(kind) || subresource !== '' || !draft) return
    const { spec } = draft as CertificateSigningRequest
    if (spec?.signerName !== SIGNER.apiserverClient) return
    if (!groupsOf(spec.request, name).includes(MASTERS)) return
    throw forbiddenAccess(
      SIGNING_REQUESTS,
      name,
      `use of ${SIGNER.apiserverClient} signer with ${MASTERS} group is not allowed`,
    )
  },
}

function groupsOf(request: string, name: string): string[] {
  try {
    return organizationsOf(Buffer.from(request, 'base64').toString())
  } catch (error) {
    throw forbiddenAccess(SIGNING_REQUESTS, name, `failed to parse CSR: ${(error as Error).message}`)
  }
}
