import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { subjectAccessReviewKind } from '../../api/kinds/authorization/reviews.ts'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { Client } from '../../client/client.ts'

/** Milliseconds until somebody who was not allowed is looked at again: rights may have been granted meanwhile. */
export const REFUSED_PAUSE = 60_000

/** Neither approved nor denied, and not signed. */
export function isUndecided({ status }: CertificateSigningRequest): boolean {
  if (status?.certificate) return false
  return !status?.conditions?.some(({ type }) => type === 'Approved' || type === 'Denied')
}

/** Whether whoever made the request has the right to such certificates, said as the right to create a subresource. */
export async function isAllowed(
  client: Client,
  { spec }: CertificateSigningRequest,
  subresource: string,
): Promise<boolean> {
  const { username = '', uid, groups, extra } = spec
  const review = await client.resource(subjectAccessReviewKind).create({
    metadata: {},
    spec: {
      user: username,
      ...(uid !== undefined && { uid }),
      ...(groups && { groups }),
      ...(extra && { extra }),
      resourceAttributes: {
        group: 'certificates.k8s.io',
        version: '*',
        resource: 'certificatesigningrequests',
        subresource,
        verb: 'create',
      },
    },
  })
  return review.status?.allowed === true
}

export async function approve(
  client: Client,
  csr: CertificateSigningRequest,
  message: string,
  now: number,
): Promise<void> {
  const time = formatTime(now)
  const condition = {
    type: 'Approved',
    status: 'True',
    reason: 'AutoApproved',
    message,
    lastUpdateTime: time,
    lastTransitionTime: time,
  }
  const conditions = [...(csr.status?.conditions ?? []), condition]
  await client
    .resource(certificateSigningRequestKind)
    .subresource('update', csr.metadata.name!, 'approval', { ...csr, status: { ...csr.status, conditions } })
}
