import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { parseCertificateRequest } from '../certificate-signing/certificate-request.ts'
import { checkKubeletClient, KUBELET_CLIENT_SIGNER } from '../certificate-signing/signers.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { approve, isAllowed, isUndecided, REFUSED_PAUSE } from './review.ts'

/** Approves the client certificates of kubelets, if whoever asks has the right to them. */
export function certificateApprovalController({ client, clock, informers }: ControllerContext): Controller {
  const requests = informers.informer(certificateSigningRequestKind)

  return {
    name: 'certificatesigningrequest-approving-controller',
    watches: [watch(requests, (old, current) => (current && concernsKubelet(current) ? ownKey(old, current) : []))],
    async reconcile(name) {
      const csr = requests.get(name)
      if (!csr || !concernsKubelet(csr)) return
      const request = parseCertificateRequest(csr.spec.request)
      if (checkKubeletClient(request, new Set(csr.spec.usages)) !== undefined) return
      const say = (message: string) => approve(client, csr, message, clock.now())
      if (csr.spec.username === request.commonName && (await isAllowed(client, csr, 'selfnodeclient')))
        return say('Auto approving self kubelet client certificate after SubjectAccessReview.')
      if (await isAllowed(client, csr, 'nodeclient'))
        return say('Auto approving kubelet client certificate after SubjectAccessReview.')
      return { retryAfter: REFUSED_PAUSE }
    },
  }
}

const concernsKubelet = (csr: CertificateSigningRequest) =>
  csr.spec.signerName === KUBELET_CLIENT_SIGNER && isUndecided(csr)
