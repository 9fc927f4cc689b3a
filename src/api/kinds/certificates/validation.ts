import { deepEqual } from '../../../base/deep-equal.ts'
import type { CertificateSigningRequest } from '../../generated/certificates-v1.ts'
import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { seenBefore } from '../../meta/seen-before.ts'
import { isDerSequence, pemBlocks } from './pem.ts'
import { validateSignerName } from './signer-name.ts'

type Request = CertificateSigningRequest

const SPEC = FieldPath.root('spec')
const CONDITIONS = FieldPath.root('status').child('conditions')
const CERTIFICATE = FieldPath.root('status').child('certificate')
const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]
/** These say yes by being there; only `True` makes sense. */
const TRUE_ONLY = new Set(['Approved', 'Denied', 'Failed'])

export function validateRequest(request: Request): FieldError[] {
  const { spec } = request
  const errors: FieldError[] = []
  const wrong = wrongRequest(spec?.request ?? '')
  if (wrong !== undefined) errors.push(invalid(SPEC.child('request'), spec?.request ?? null, wrong))
  errors.push(...validateUsages(spec?.usages ?? []))
  if (spec?.signerName === 'kubernetes.io/legacy-unknown')
    errors.push(
      invalid(SPEC.child('signerName'), spec.signerName, 'the legacy signerName is not allowed via this API version'),
    )
  else errors.push(...validateSignerName(spec?.signerName ?? '', SPEC.child('signerName')))
  const seconds = spec?.expirationSeconds
  if (seconds !== undefined && seconds < 600) {
    const message = 'may not specify a duration less than 600 seconds (10 minutes)'
    errors.push(invalid(SPEC.child('expirationSeconds'), seconds, message))
  }
  return [...errors, ...validateConditions(request)]
}

function wrongRequest(base64: string): string | undefined {
  const block = pemBlocks(Buffer.from(base64, 'base64').toString())[0]
  if (block?.type !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST'
  return isDerSequence(block.bytes) ? undefined : 'asn1: structure error: malformed certificate request'
}

function validateUsages(usages: readonly string[]): FieldError[] {
  const path = SPEC.child('usages')
  if (usages.length === 0) return [required(path)]
  const unknown = usages.flatMap((usage, index) =>
    USAGES.includes(usage) ? [] : [notSupported(path.index(index), usage, USAGES)],
  )
  const isRepeated = seenBefore<string>()
  const repeated = usages.flatMap((usage, index) => (isRepeated(usage) ? [duplicate(path.index(index), usage)] : []))
  return [...unknown, ...repeated]
}

function validateConditions({ status }: Request): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  status?.conditions?.forEach(({ type = '', status: value = '' }, index) => {
    const path = CONDITIONS.index(index)
    const allowed = TRUE_ONLY.has(type) ? ['True'] : ['False', 'True', 'Unknown']
    if (type === '') errors.push(required(path.child('type')))
    if (value === '') errors.push(required(path.child('status')))
    else if (!allowed.includes(value)) errors.push(notSupported(path.child('status'), value, allowed))
    const opposite = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : undefined
    if (opposite !== undefined && seen.has(opposite))
      errors.push(invalid(CONDITIONS, type, 'Approved and Denied conditions are mutually exclusive'))
    if (seen.has(type)) errors.push(duplicate(path.child('type'), type))
    seen.add(type)
  })
  return errors
}

export function validateApproval(request: Request, old: Request): FieldError[] {
  return [...validateConditions(request), ...removedConditions(request, old)]
}

export function validateStatus(request: Request, old: Request): FieldError[] {
  const errors = [...validateConditions(request), ...removedConditions(request, old), ...addedDecisions(request, old)]
  const { certificate } = request.status ?? {}
  if (certificate === old.status?.certificate) return errors
  if (old.status?.certificate) {
    errors.push(forbidden(CERTIFICATE, 'updates may not modify existing certificate content'))
    return errors
  }
  const wrong = wrongCertificate(certificate ?? '')
  if (wrong !== undefined) errors.push(invalid(CERTIFICATE, '<certificate data>', wrong))
  return errors
}

const ofType = (request: Request, type: string) => request.status?.conditions?.filter((c) => c.type === type) ?? []

/** What was decided stays decided. */
function removedConditions(request: Request, old: Request): FieldError[] {
  return [...TRUE_ONLY]
    .filter((type) => ofType(request, type).length < ofType(old, type).length)
    .map((type) => forbidden(CONDITIONS, `updates may not remove a condition of type "${type}"`))
}

function addedDecisions(request: Request, old: Request): FieldError[] {
  return ['Approved', 'Denied'].flatMap((type) => {
    const [now, before] = [ofType(request, type), ofType(old, type)]
    if (now.length > before.length) return [forbidden(CONDITIONS, `updates may not add a condition of type "${type}"`)]
    return now.length === before.length && !deepEqual(now, before)
      ? [forbidden(CONDITIONS, `updates may not modify a condition of type "${type}"`)]
      : []
  })
}

function wrongCertificate(base64: string): string | undefined {
  if (base64 === '') return undefined
  const blocks = pemBlocks(Buffer.from(base64, 'base64').toString())
  if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block'
  for (const { type, hasHeaders, bytes } of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found "${type}"`
    if (hasHeaders) return 'no PEM block headers are permitted'
    if (!isDerSequence(bytes)) return 'x509: malformed certificate'
  }
  return undefined
}
