import { describe, expect, it } from 'vitest'
import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import { admitted } from './admission.fixture.ts'
import { certificateApproval } from './certificate-approval.ts'
import { certificateSigning } from './certificate-signing.ts'
import { clusterTrustBundleAttest } from './cluster-trust-bundle-attest.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

/** Allows what is listed as `verb resource/name`. */
const only = (...allowed: string[]): Authorizer => ({
  decide: (_, { verb, resource }) => ({
    allowed: allowed.includes(`${verb} ${resource?.resource}.${resource?.group}/${resource?.name}`),
    reason: '',
  }),
})
const nobody = only()
const approver = only('approve signers.certificates.k8s.io/example.com/web')
const domainSigner = only('sign signers.certificates.k8s.io/example.com/*')
const attester = only('attest signers.certificates.k8s.io/example.com/web')

const request = (status: CertificateSigningRequest['status'] = {}): CertificateSigningRequest => ({
  metadata: { name: 'r' },
  spec: { request: '', signerName: 'example.com/web', usages: [] },
  status,
})
const approved = request({ conditions: [{ type: 'Approved', status: 'True' }] })
const signed = request({ certificate: 'x' })
const refusal = (verb: string) =>
  `certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to ${verb} requests with signerName "example.com/web"`

describe('requests for certificates', () => {
  it.each<
    [why: string, plugin: AdmissionPlugin, subresource: string, draft: CertificateSigningRequest, refusal?: string]
  >([
    ['a stranger approves', certificateApproval(nobody), 'approval', approved, refusal('approve')],
    ['an approver approves', certificateApproval(approver), 'approval', approved],
    ['an approver signs', certificateSigning(approver), 'status', signed, refusal('sign')],
    ['a signer of the domain signs', certificateSigning(domainSigner), 'status', signed],
    ['a status that changes nothing', certificateSigning(nobody), 'status', request()],
    ['conditions are a signature, too', certificateSigning(nobody), 'status', approved, refusal('sign')],
    ['another door', certificateApproval(nobody), '', approved],
  ])('%s', async (_, plugin, subresource, draft, refused) => {
    const change: Partial<AdmissionRequest> = { operation: 'UPDATE', subresource, old: request() }
    expect(await admitted(plugin, certificateSigningRequestKind, draft, change)).toEqual(refused ?? draft)
  })
})

describe('trust bundles', () => {
  const kind = { ...certificateSigningRequestKind, kind: 'ClusterTrustBundle', plural: 'clustertrustbundles' }
  const bundle = (spec: object, metadata: object = {}) => ({ metadata: { name: 'b', ...metadata }, spec })
  const ofSigner = bundle({ signerName: 'example.com/web', trustBundle: 'x' })
  const collected = bundle(ofSigner.spec, { finalizers: ['f'] })
  const changed = bundle({ ...ofSigner.spec, trustBundle: 'y' })
  const refused =
    'clustertrustbundles.certificates.k8s.io "b" is forbidden: user not permitted to attest for signerName "example.com/web"'
  it.each<
    [why: string, authorizer: Authorizer, draft: ReturnType<typeof bundle>, old: object | undefined, refusal?: string]
  >([
    ['of no signer', nobody, bundle({ trustBundle: 'x' }), undefined],
    ['of a signer by a stranger', nobody, ofSigner, undefined, refused],
    ['of a signer by who may', attester, ofSigner, undefined],
    ['changed by a stranger', nobody, changed, ofSigner, refused],
    ['freed by the garbage collector', nobody, collected, ofSigner],
  ])('%s', async (_, authorizer, draft, old, refusal) => {
    const change = (old ? { operation: 'UPDATE', old } : {}) as Partial<AdmissionRequest>
    expect(await admitted(clusterTrustBundleAttest(authorizer), kind, draft, change)).toEqual(refusal ?? draft)
  })
})
