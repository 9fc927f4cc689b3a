import type { TokenReview } from '../../api/generated/authentication-v1.ts'
import type { Clock } from '../../base/clock.ts'
import { AUTHENTICATED } from '../identity.ts'
import { callWebhook } from '../webhook-client/call-webhook.ts'
import { InvalidToken, type TokenAuthenticator, type TokenIdentity } from './token.ts'

/** Somebody else who knows tokens: asked by POST of a TokenReview. */
export interface AuthenticationWebhook {
  /** `https://...` */
  readonly url: string
  /** PEM of the authority that signed its certificate; those of the machine when absent. */
  readonly ca?: string
  readonly timeoutMs?: number
  /** How long an answer holds, in milliseconds. */
  readonly ttl?: number
}

const TIMEOUT_MS = 10_000
const TTL = 2 * 60_000
const MAX_KEPT = 8192

export function webhookTokens(
  webhook: AuthenticationWebhook,
  serverAudiences: readonly string[],
  clock: Clock,
): TokenAuthenticator {
  const kept = new Map<string, { identity: TokenIdentity; until: number }>()
  const client = { url: webhook.url, ...(webhook.ca && { caBundle: Buffer.from(webhook.ca).toString('base64') }) }
  const ask = async (token: string, audiences: readonly string[], key: string): Promise<TokenIdentity | undefined> => {
    const spec = { token, audiences: [...audiences] }
    const review = { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', metadata: {}, spec }
    let answer: TokenReview
    try {
      const timeout = webhook.timeoutMs ?? TIMEOUT_MS
      answer = (await callWebhook(client, review, async () => undefined, timeout)) as TokenReview
    } catch (error) {
      throw new InvalidToken(`the webhook did not answer: ${error instanceof Error ? error.message : error}`)
    }
    const identity = identityOf(answer, serverAudiences, audiences)
    if (identity) {
      if (kept.size >= MAX_KEPT) kept.clear()
      kept.set(key, { identity, until: clock.now() + (webhook.ttl ?? TTL) })
    }
    return identity
  }
  return {
    authenticate(token, audiences) {
      const key = JSON.stringify([token, ...audiences])
      const known = kept.get(key)
      return known && known.until > clock.now() ? known.identity : ask(token, audiences, key)
    },
  }
}

function identityOf(
  { status }: TokenReview,
  serverAudiences: readonly string[],
  asked: readonly string[],
): TokenIdentity | undefined {
  if (status?.authenticated !== true || !status.user?.username) {
    if (status?.error) throw new InvalidToken(status.error)
    return undefined
  }
  const { username: name, uid, groups = [], extra } = status.user
  // One that does not speak of audiences knows only this server.
  const good = status.audiences?.length ? status.audiences : serverAudiences
  const audiences = asked.filter((audience) => good.includes(audience))
  if (audiences.length === 0) return undefined
  const user = { name, ...(uid && { uid }), groups: [...groups, AUTHENTICATED], ...(extra && { extra }) }
  return { user, audiences }
}
