import { createHash } from 'node:crypto'
import { AUTHENTICATED, type UserInfo } from '../identity.ts'
import { forServer, type TokenAuthenticator } from './token.ts'

/** A token that was written down when the server was started. */
export interface StaticToken {
  readonly token: string
  readonly name: string
  readonly uid?: string
  readonly groups?: readonly string[]
}

const hash = (token: string) => createHash('sha256').update(token).digest('hex')

/** Looked up by their hash, so that how long it takes tells nothing of them. */
export function staticTokens(tokens: readonly StaticToken[], serverAudiences: readonly string[]): TokenAuthenticator {
  const users = new Map<string, UserInfo>()
  for (const { token, name, uid, groups = [] } of tokens)
    users.set(hash(token), { name, ...(uid && { uid }), groups: [...groups, AUTHENTICATED] })
  return {
    authenticate(token, audiences) {
      const user = users.get(hash(token))
      return user && forServer(user, serverAudiences, audiences)
    },
  }
}
