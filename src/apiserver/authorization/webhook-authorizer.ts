import type { SubjectAccessReview } from '../../api/generated/authorization-v1.ts'
import type { Clock } from '../../base/clock.ts'
import type { UserInfo } from '../identity.ts'
import { callWebhook } from '../webhook-client/call-webhook.ts'
import type { AccessAttributes, AccessDecision, Authorizer } from './authorizer.ts'

/** Somebody else who decides: asked by POST of a SubjectAccessReview. */
export interface AuthorizationWebhook {
  /** `https://...` */
  readonly url: string
  /** PEM of the authority that signed its certificate; those of the machine when absent. */
  readonly ca?: string
  readonly timeoutMs?: number
  /** What to conclude if it does not answer: nothing, or that it is forbidden. Nothing by default. */
  readonly onFailure?: 'NoOpinion' | 'Deny'
  /** How long answers hold, in milliseconds. */
  readonly allowedTtl?: number
  readonly refusedTtl?: number
}

const TIMEOUT_MS = 3000
const ALLOWED_TTL = 5 * 60_000
const REFUSED_TTL = 30_000
const MAX_KEPT = 8192

export function webhookAuthorizer(webhook: AuthorizationWebhook, clock: Clock): Authorizer {
  const kept = new Map<string, { decision: AccessDecision; until: number }>()
  const client = { url: webhook.url, ...(webhook.ca && { caBundle: Buffer.from(webhook.ca).toString('base64') }) }
  const ask = async (spec: SubjectAccessReview['spec'], key: string): Promise<AccessDecision> => {
    const review = { kind: 'SubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', metadata: {}, spec }
    try {
      const answer = await callWebhook(client, review, async () => undefined, webhook.timeoutMs ?? TIMEOUT_MS)
      const decision = decisionOf(answer as SubjectAccessReview)
      const ttl = decision.allowed ? (webhook.allowedTtl ?? ALLOWED_TTL) : (webhook.refusedTtl ?? REFUSED_TTL)
      if (kept.size >= MAX_KEPT) kept.clear()
      kept.set(key, { decision, until: clock.now() + ttl })
      return decision
    } catch (error) {
      const reason = `the authorization webhook did not answer: ${error instanceof Error ? error.message : error}`
      return { allowed: false, denied: webhook.onFailure === 'Deny', reason }
    }
  }
  return {
    decide(user, attributes) {
      const spec = specOf(user, attributes)
      const key = JSON.stringify(spec)
      const known = kept.get(key)
      return known && known.until > clock.now() ? known.decision : ask(spec, key)
    },
  }
}

function decisionOf({ status }: SubjectAccessReview): AccessDecision {
  if (typeof status?.allowed !== 'boolean') throw new Error('the answer has no status')
  return { allowed: status.allowed, denied: status.denied === true, reason: status.reason ?? '' }
}

function specOf(
  user: UserInfo,
  { verb, resource, path = '', selectors }: AccessAttributes,
): SubjectAccessReview['spec'] {
  const who = {
    user: user.name,
    groups: [...user.groups],
    ...(user.uid && { uid: user.uid }),
    ...(user.extra && { extra: user.extra as Record<string, string[]> }),
  }
  if (!resource) return { ...who, nonResourceAttributes: { verb, path } }
  const { group, version = '*', namespace, name, subresource } = resource
  const fieldSelector = selectors?.get('fieldSelector')
  const labelSelector = selectors?.get('labelSelector')
  return {
    ...who,
    resourceAttributes: {
      verb,
      group,
      version,
      resource: resource.resource,
      ...(subresource && { subresource }),
      ...(namespace && { namespace }),
      ...(name && { name }),
      ...(fieldSelector && { fieldSelector: { rawSelector: fieldSelector } }),
      ...(labelSelector && { labelSelector: { rawSelector: labelSelector } }),
    },
  }
}
