import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import { isSigningRequest, SIGNING_REQUESTS } from './certificate-requester.ts'
import type { AdmissionPlugin } from './plugin.ts'
import { mayActForSigner } from './signer-permission.ts'

/** To put a certificate into a request takes the right to sign for its signer. */
export function certificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    resources: ['certificatesigningrequests.certificates.k8s.io'],
    async validate({ operation, subresource, kind, draft, old, user, name }) {
      if (operation !== 'UPDATE' || subresource !== 'status' || !isSigningRequest(kind)) return
      const [now, before] = [draft as CertificateSigningRequest, old as CertificateSigningRequest]
      const isSame =
        now.status?.certificate === before.status?.certificate &&
        deepEqual(now.status?.conditions ?? [], before.status?.conditions ?? [])
      const { signerName } = before.spec
      if (isSame || (await mayActForSigner(authorizer, user, 'sign', signerName))) return
      const why = `user not permitted to sign requests with signerName ${JSON.stringify(signerName)}`
      throw forbiddenAccess(SIGNING_REQUESTS, name, why)
    },
  }
}
