import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { subjectAccessReviewKind } from '../../api/kinds/authorization/reviews.ts'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { formatTime } from '../../api/meta/time.ts'
import { parseCertificateRequest } from '../certificate-signing/certificate-request.ts'
import { checkKubeletClient, KUBELET_CLIENT_SIGNER } from '../certificate-signing/signers.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'

/** Milliseconds until somebody who was not allowed is looked at again: rights may have been granted meanwhile. */
const REFUSED_PAUSE = 60_000

/** Approves the client certificates of kubelets, if whoever asks has the right to them. */
export function certificateApprovalController({ client, clock, informers }: ControllerContext): Controller {
  const requests = informers.informer(certificateSigningRequestKind)
  const resource = client.resource(certificateSigningRequestKind)

  async function isAllowed({ spec }: CertificateSigningRequest, subresource: string): Promise<boolean> {
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

  async function approve(csr: CertificateSigningRequest, message: string): Promise<void> {
    const time = formatTime(clock.now())
    const condition = {
      type: 'Approved',
      status: 'True',
      reason: 'AutoApproved',
      message,
      lastUpdateTime: time,
      lastTransitionTime: time,
    }
    const conditions = [...(csr.status?.conditions ?? []), condition]
    await resource.subresource('update', csr.metadata.name!, 'approval', {
      ...csr,
      status: { ...csr.status, conditions },
    })
  }

  return {
    name: 'certificatesigningrequest-approving-controller',
    watches: [watch(requests, (old, current) => (isUndecided(current) ? ownKey(old, current) : []))],
    async reconcile(name) {
      const csr = requests.get(name)
      if (!csr || !isUndecided(csr)) return
      const request = parseCertificateRequest(csr.spec.request)
      if (checkKubeletClient(request, new Set(csr.spec.usages)) !== undefined) return
      if (csr.spec.username === request.commonName && (await isAllowed(csr, 'selfnodeclient')))
        return approve(csr, 'Auto approving self kubelet client certificate after SubjectAccessReview.')
      if (await isAllowed(csr, 'nodeclient'))
        return approve(csr, 'Auto approving kubelet client certificate after SubjectAccessReview.')
      return { retryAfter: REFUSED_PAUSE }
    },
  }
}

function isUndecided(csr: CertificateSigningRequest | undefined): boolean {
  if (csr?.spec.signerName !== KUBELET_CLIENT_SIGNER || csr.status?.certificate) return false
  return !csr.status?.conditions?.some(({ type }) => type === 'Approved' || type === 'Denied')
}
