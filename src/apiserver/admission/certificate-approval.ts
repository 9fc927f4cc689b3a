import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import { isSigningRequest, SIGNING_REQUESTS } from './certificate-requester.ts'
import type { AdmissionPlugin } from './plugin.ts'
import { mayActForSigner } from './signer-permission.ts'

/** To approve a request takes the right to do so for its signer, not only to change requests. */
export function certificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    resources: ['certificatesigningrequests.certificates.k8s.io'],
    async validate(request) {
      if (request.operation !== 'UPDATE' || request.subresource !== 'approval' || !isSigningRequest(request.kind))
        return
      const { signerName } = (request.old as CertificateSigningRequest).spec
      if (await mayActForSigner(authorizer, request.user, 'approve', signerName)) return
      const why = `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`
      throw forbiddenAccess(SIGNING_REQUESTS, request.name, why)
    },
  }
}
