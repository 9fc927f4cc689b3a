import type { CertificateSigningRequest } from '../../generated/certificates-v1.ts'
import { defineKind } from '../../kind.ts'
import { isPathSegmentName } from '../../meta/names.ts'
import { humanDuration } from '../../meta/time.ts'
import { keepField, statusSubresource } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { validateApproval, validateRequest, validateStatus } from './validation.ts'

/**
 * `spec.username`, `groups`, `uid` and `extra` say who asks: on creation the registry sets them from the request's
 * user, after `prepareCreate` has cleared what the client claims to be.
 */
export const certificateSigningRequestKind = defineKind<CertificateSigningRequest>({
  group: 'certificates.k8s.io',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  shortNames: ['csr'],
  namespaced: false,
  schema: 'io.k8s.api.certificates.v1.CertificateSigningRequest',
  validateName: isPathSegmentName,
  prepareCreate,
  prepareUpdate: (draft, old) => {
    keepField(draft, old, 'spec')
    keepField(draft, old, 'status')
  },
  validate: validateRequest,
  selectableFields: { 'spec.signerName': (request) => request.spec?.signerName ?? '' },
  columns: [
    nameColumn,
    ageColumn,
    column<CertificateSigningRequest>('SignerName', 'Who is to sign.', (csr) => csr.spec?.signerName || '<none>'),
    column<CertificateSigningRequest>('Requestor', 'Who asks for a certificate.', (csr) => csr.spec?.username ?? ''),
    column<CertificateSigningRequest>('RequestedDuration', 'How long the certificate is to be valid.', duration),
    column<CertificateSigningRequest>('Condition', 'Whether it is approved and issued.', condition),
  ],
  subresources: {
    approval: {
      type: 'part',
      verbs: ['get', 'patch', 'update'],
      prepareUpdate: prepareApproval,
      validateUpdate: validateApproval,
    },
    status: statusSubresource<CertificateSigningRequest>({
      prepareUpdate: prepareStatus,
      validateUpdate: validateStatus,
    }),
  },
})

function prepareCreate(draft: CertificateSigningRequest): void {
  draft.status = {}
  if (!draft.spec) return
  delete draft.spec.username
  delete draft.spec.uid
  delete draft.spec.groups
  delete draft.spec.extra
}

/** Approval decides on the conditions alone; a certificate is issued through `status`. */
function prepareApproval(draft: CertificateSigningRequest, old: CertificateSigningRequest): void {
  const conditions = draft.status?.conditions
  keepField(draft, old, 'spec')
  draft.status = { ...old.status }
  if (conditions === undefined) delete draft.status.conditions
  else draft.status.conditions = conditions
}

/** Who issues certificates cannot approve: those conditions stay as they were. */
function prepareStatus(draft: CertificateSigningRequest, old: CertificateSigningRequest): void {
  keepField(draft, old, 'spec')
  const decided = new Map(old.status?.conditions?.map((known) => [known.type, known]))
  if (!draft.status?.conditions) return
  draft.status.conditions = draft.status.conditions.map((condition) =>
    isDecision(condition.type) ? (decided.get(condition.type) ?? condition) : condition,
  )
}

const isDecision = (type: string) => type === 'Approved' || type === 'Denied'

function duration({ spec }: CertificateSigningRequest): string {
  return spec?.expirationSeconds === undefined ? '<none>' : humanDuration(spec.expirationSeconds * 1000)
}

function condition({ status }: CertificateSigningRequest): string {
  const has = (type: string) => status?.conditions?.some((known) => known.type === type) === true
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
  return decision + (has('Failed') ? ',Failed' : '') + (status?.certificate ? ',Issued' : '')
}
