import type { KeyObject } from 'node:crypto'
import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { type CertificateRequest, parseCertificateRequest } from './certificate-request.ts'
import { signers } from './signers.ts'

export interface CertificateToSign {
  readonly publicKey: KeyObject
  /** The DER of the whole subject. */
  readonly subject: Buffer
  /** DNS names and IP addresses. */
  readonly subjectAltNames: readonly string[]
  readonly usages: readonly string[]
  /** Milliseconds. */
  readonly notBefore: number
  readonly notAfter: number
}

/** The cluster's certificate authority. */
export interface CertificateSigner {
  /** When the authority itself ends; no certificate outlives it. */
  readonly notAfter: number
  /** Returns PEM. */
  sign(certificate: CertificateToSign): string
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const MAX_LIFETIME = 365 * 24 * HOUR
const MIN_LIFETIME = 10 * MINUTE
/** Clocks differ a little: certificates count from a few minutes ago. */
const BACKDATE = 5 * MINUTE
/** Below this the backdating would shorten a lifetime noticeably. */
const SHORT_LIFETIME = 8 * HOUR

/** Issues certificates for approved requests to the signers of the cluster itself. */
export function certificateSigningController({
  client,
  clock,
  informers,
  certificateSigner,
}: ControllerContext & { readonly certificateSigner: CertificateSigner }): Controller {
  const requests = informers.informer(certificateSigningRequestKind)

  function statusFor(csr: CertificateSigningRequest): CertificateSigningRequest['status'] {
    const { usages = [], signerName, expirationSeconds, request } = csr.spec
    const parsed = parseCertificateRequest(request)
    const wrong = signers[signerName]?.(parsed, new Set(usages))
    if (wrong !== undefined) return failed(csr, wrong, clock.now())
    const certificate = certificateSigner.sign({
      ...certificateOf(parsed),
      usages,
      ...validity(clock.now(), expirationSeconds, certificateSigner.notAfter),
    })
    return { ...csr.status, certificate: Buffer.from(certificate).toString('base64') }
  }

  return {
    name: 'certificatesigningrequest-signing-controller',
    watches: [watch(requests, (old, current) => (isWaiting(current) ? ownKey(old, current) : []))],
    async reconcile(name) {
      const csr = requests.get(name)
      if (!csr || !isWaiting(csr)) return
      const status = statusFor(csr)
      await client.resource(certificateSigningRequestKind).updateStatus({ ...csr, ...(status && { status }) })
    },
  }
}

function isWaiting(csr: CertificateSigningRequest | undefined): boolean {
  if (!csr || csr.status?.certificate || !Object.hasOwn(signers, csr.spec.signerName)) return false
  const conditions = csr.status?.conditions
  return (
    isConditionTrue(conditions, 'Approved') &&
    !isConditionTrue(conditions, 'Denied') &&
    !isConditionTrue(conditions, 'Failed')
  )
}

function failed(csr: CertificateSigningRequest, message: string, now: number): CertificateSigningRequest['status'] {
  const time = formatTime(now)
  const condition = {
    type: 'Failed',
    status: 'True',
    reason: 'SignerValidationFailure',
    message,
    lastUpdateTime: time,
    lastTransitionTime: time,
  }
  return { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] }
}

const certificateOf = ({ publicKey, subject, dnsNames, ipAddresses }: CertificateRequest) => ({
  publicKey,
  subject,
  subjectAltNames: [...dnsNames, ...ipAddresses],
})

function validity(now: number, expirationSeconds: number | undefined, end: number) {
  const wanted = expirationSeconds === undefined ? MAX_LIFETIME : expirationSeconds * 1000
  const lifetime = Math.min(Math.max(wanted, MIN_LIFETIME), MAX_LIFETIME)
  const notAfter = now + lifetime - (lifetime < SHORT_LIFETIME ? 0 : BACKDATE)
  return { notBefore: now - BACKDATE, notAfter: Math.min(notAfter, end) }
}
