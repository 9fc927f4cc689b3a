import { timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../api/generated/core-v1.ts'
import { parseTime } from '../../api/meta/time.ts'
import { SECRET_TYPE } from '../../api/meta/well-known.ts'
import type { Clock } from '../../base/clock.ts'
import { AUTHENTICATED, type UserInfo } from '../identity.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'
import { forServer, InvalidToken, type TokenAuthenticator } from './token.ts'

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/
const SECRETS = storagePrefix({ group: '', plural: 'secrets' })

/** Tokens of machines that join: `id.secret`, each a Secret `bootstrap-token-<id>` in kube-system. */
export function bootstrapTokens(feed: CacheFeed, clock: Clock, serverAudiences: readonly string[]): TokenAuthenticator {
  return {
    async authenticate(token, audiences) {
      const match = TOKEN.exec(token)
      if (!match) return undefined
      const [, id, secretPart] = match
      const cache = await feed.cache(SECRETS)
      const secret = cache.get(`${SECRETS}kube-system/bootstrap-token-${id}`)?.object as Secret | undefined
      if (secret?.type !== SECRET_TYPE.bootstrapToken || secret.metadata.deletionTimestamp) return undefined
      return forServer(userOf(secret, id!, secretPart!, clock.now()), serverAudiences, audiences)
    },
  }
}

function userOf(secret: Secret, id: string, secretPart: string, now: number): UserInfo {
  const read = (key: string) => Buffer.from(secret.data?.[key] ?? '', 'base64').toString()
  if (read('token-id') !== id || !isEqual(read('token-secret'), secretPart))
    throw new InvalidToken('invalid bootstrap token')
  const expiration = read('expiration')
  if (expiration !== '' && (parseTime(expiration) ?? 0) <= now) throw new InvalidToken('bootstrap token has expired')
  if (read('usage-bootstrap-authentication') !== 'true')
    throw new InvalidToken('bootstrap token is not for authentication')
  const extra = read('auth-extra-groups')
    .split(',')
    .filter((group) => group !== '')
  if (!extra.every((group) => EXTRA_GROUP.test(group))) throw new InvalidToken('bootstrap token has invalid groups')
  return { name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', ...extra, AUTHENTICATED] }
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
