import { unauthorized } from '../../api/meta/api-error.ts'
import { certificateExpiry } from '../../base/certificate-expiry.ts'
import type { Clock } from '../../base/clock.ts'
import type { Exchange } from '../http/exchange.ts'
import { ANONYMOUS, type UserInfo } from '../identity.ts'
import { type IsUserCertificate, userOfCertificate } from './client-certificate.ts'
import type { RequestHeaderAuthenticator } from './request-header.ts'
import { firstToKnow, InvalidToken, type TokenAuthenticator, type TokenIdentity } from './token.ts'

/** Finds out who sent a request. Throws 401 if nobody that is known here. Waits only if it must. */
export interface Authenticator {
  authenticate(exchange: Exchange): UserInfo | Promise<UserInfo>
  /** Whose token this is, for one of these audiences; those of this server when none is given. */
  authenticateToken(token: string, audiences?: readonly string[]): Promise<TokenIdentity | undefined>
}

export interface AuthenticatorParts {
  readonly clock: Pick<Clock, 'now'>
  readonly requestHeader?: RequestHeaderAuthenticator
  /** Set where the TLS layer believes more authorities than those of users. */
  readonly isUserCertificate?: IsUserCertificate
  /** In the order in which they are asked; the first may answer at once. */
  readonly tokens: readonly TokenAuthenticator[]
  readonly serverAudiences: readonly string[]
  /** Whether whoever shows nothing is nobody in particular at this path; refused otherwise. */
  readonly anonymous: (path: string) => boolean
}

const BEARER = /^bearer +(\S+) *$/i

export function authenticatorOf(parts: AuthenticatorParts): Authenticator {
  const { clock, requestHeader, isUserCertificate, tokens, serverAudiences, anonymous } = parts
  const [first, ...others] = tokens
  const later = async (from: readonly TokenAuthenticator[], token: string): Promise<UserInfo> => {
    const found = await firstToKnow(from, token, serverAudiences).catch(refuse)
    if (!found) throw unauthorized()
    return found.user
  }
  const byToken = (token: string): UserInfo | Promise<UserInfo> => {
    let found: ReturnType<TokenAuthenticator['authenticate']>
    try {
      found = first?.authenticate(token, serverAudiences)
    } catch (error) {
      if (!(error instanceof InvalidToken)) throw error
    }
    if (found instanceof Promise) return later([{ authenticate: () => found }, ...others], token)
    return found?.user ?? later(others, token)
  }
  return {
    authenticate(exchange) {
      const { socket, headers, url } = exchange
      const user = requestHeader?.(socket, headers) ?? userOfCertificate(socket, isUserCertificate)
      // At each request: a connection may stay open for longer than its certificate is valid.
      if (user && clock.now() < certificateExpiry(socket)) return user
      const { authorization } = headers
      if (authorization !== undefined) {
        const token = BEARER.exec(authorization)?.[1]
        if (token !== undefined) return byToken(token)
      }
      if (!user && authorization === undefined && anonymous(pathOf(url))) return ANONYMOUS
      throw unauthorized()
    },
    authenticateToken: (token, audiences = serverAudiences) => firstToKnow(tokens, token, audiences),
  }
}

const pathOf = (url: string) => url.split('?', 1)[0]!

/** Why a token is not good is nobody's business but that of who asks by a TokenReview. */
function refuse(error: unknown): undefined {
  if (error instanceof InvalidToken) throw unauthorized()
  throw error
}
