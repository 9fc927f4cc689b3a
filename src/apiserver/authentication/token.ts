import type { UserInfo } from '../identity.ts'

/** Whom a token names, and for whose eyes it is. */
export interface TokenIdentity {
  readonly user: UserInfo
  /** Of the audiences asked for, those that the token is good for. */
  readonly audiences: readonly string[]
}

/** A token of this kind that is not good: expired, for others, of somebody who is gone. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken'
}

/**
 * One way to read bearer tokens. Undefined means that the token is not of this kind, so that the next one is asked;
 * `InvalidToken` is thrown for one that is, but is not good. Answers at once where it can.
 */
export interface TokenAuthenticator {
  authenticate(
    token: string,
    audiences: readonly string[],
  ): TokenIdentity | undefined | Promise<TokenIdentity | undefined>
}

/** For tokens that know no audience: they are for this API server alone. */
export function forServer(
  user: UserInfo,
  serverAudiences: readonly string[],
  asked: readonly string[],
): TokenIdentity | undefined {
  const audiences = asked.filter((audience) => serverAudiences.includes(audience))
  return audiences.length > 0 ? { user, audiences } : undefined
}

/** Asks in order; the first that knows the token answers. Reasons of refusals are thrown when nobody knows it. */
export async function firstToKnow(
  authenticators: readonly TokenAuthenticator[],
  token: string,
  audiences: readonly string[],
): Promise<TokenIdentity | undefined> {
  const refusals: string[] = []
  for (const authenticator of authenticators) {
    try {
      const found = await authenticator.authenticate(token, audiences)
      if (found) return found
    } catch (error) {
      if (!(error instanceof InvalidToken)) throw error
      refusals.push(error.message)
    }
  }
  if (refusals.length > 0) throw new InvalidToken(refusals.join(', '))
  return undefined
}
