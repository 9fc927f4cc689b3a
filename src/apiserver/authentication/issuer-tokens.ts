import type { Clock } from '../../base/clock.ts'
import type { Claims } from './claim-expressions.ts'
import { type Algorithm, type DecodedJwt, isSignedBy } from './jwt.ts'
import { type KeyIssuer, OidcKeys } from './oidc-keys.ts'
import { InvalidToken } from './token.ts'

export interface TokenTerms {
  readonly clock: Clock
  /** Whom a token must be for, one of them at least. */
  readonly audiences: readonly string[]
  /** Any that keys are for, when absent. */
  readonly algorithms?: readonly Algorithm[] | undefined
}

/** Checks tokens of one issuer: its signature, their audience and their time. */
export class IssuerTokens {
  readonly #keys: OidcKeys
  readonly #terms: TokenTerms

  constructor(issuer: KeyIssuer, terms: TokenTerms) {
    this.#keys = new OidcKeys(issuer, terms.clock)
    this.#terms = terms
  }

  /** The claims of a good token; throws `InvalidToken` with the reason for any other. */
  async verify(jwt: DecodedJwt): Promise<Claims> {
    const { kid } = jwt.header
    const { algorithms, audiences, clock } = this.#terms
    const known = await this.#keys.forId(typeof kid === 'string' ? kid : undefined)
    const usable = algorithms ? known.filter(({ algorithm }) => algorithms.includes(algorithm)) : known
    if (!isSignedBy(jwt, usable)) throw new InvalidToken('failed to verify signature')
    checkLife(jwt.claims, audiences, clock.now())
    return jwt.claims
  }
}

function checkLife({ aud, exp, nbf }: Claims, audiences: readonly string[], now: number): void {
  const given = Array.isArray(aud) ? aud : [aud]
  if (!audiences.some((audience) => given.includes(audience)))
    throw new InvalidToken(`expected audience in ${JSON.stringify(audiences)} got ${JSON.stringify(aud)}`)
  if (typeof exp !== 'number' || exp * 1000 <= now) throw new InvalidToken('token is expired')
  if (typeof nbf === 'number' && nbf * 1000 > now + 60_000) throw new InvalidToken('token is not valid yet')
}
