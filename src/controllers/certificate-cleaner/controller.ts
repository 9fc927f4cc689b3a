import { X509Certificate } from 'node:crypto'
import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import { certificateSigningRequestKind } from '../../api/kinds/certificates/certificate-signing-request.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'

const HOUR = 60 * 60 * 1000
/** Milliseconds that requests are kept, by what became of them. */
const DECIDED = HOUR
const PENDING = 24 * HOUR

/** Deletes requests for certificates that nobody needs to see any more. */
export function certificateCleanerController({ client, clock, informers }: ControllerContext): Controller {
  const requests = informers.informer(certificateSigningRequestKind)
  return {
    name: 'certificatesigningrequest-cleaner-controller',
    watches: [watch(requests, (old, current) => (current ? ownKey(old, current) : []))],
    async reconcile(name) {
      const csr = requests.get(name)
      const wait = csr && expiryOf(csr) - clock.now()
      if (!csr || wait === undefined) return
      if (wait > 0) return { retryAfter: wait }
      const { uid } = csr.metadata
      try {
        await client.resource(certificateSigningRequestKind).delete(name, { ...(uid && { preconditions: { uid } }) })
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 404)) throw error
      }
    },
  }
}

function expiryOf({ metadata, status }: CertificateSigningRequest): number {
  const created = parseTime(metadata.creationTimestamp ?? '') ?? 0
  const conditions = status?.conditions ?? []
  if (conditions.length === 0) return created + PENDING
  const ends = conditions.map(({ type, lastUpdateTime, lastTransitionTime }) => {
    const since = parseTime(lastUpdateTime ?? lastTransitionTime ?? '') ?? created
    return since + (type === 'Approved' && !status?.certificate ? PENDING : DECIDED)
  })
  return Math.min(...ends, certificateEnd(status?.certificate))
}

function certificateEnd(base64: string | undefined): number {
  if (!base64) return Number.POSITIVE_INFINITY
  try {
    return Date.parse(new X509Certificate(Buffer.from(base64, 'base64')).validTo)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
