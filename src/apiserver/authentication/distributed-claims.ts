import type { Claims } from './claim-expressions.ts'
import { httpsGet } from './https-get.ts'
import { IssuerTokens, type TokenTerms } from './issuer-tokens.ts'
import { decodeJwt } from './jwt.ts'
import type { KeyIssuer } from './oidc-keys.ts'
import { InvalidToken } from './token.ts'

/** Endpoints may answer with tokens of issuers of their own; more than these are nobody's set-up. */
const MAX_ISSUERS = 16

interface ClaimSource {
  readonly endpoint?: unknown
  readonly access_token?: unknown
}

/**
 * A claim that a token only points to, because it would be too large: another token holds it, which is asked for at
 * the endpoint the first one names (OpenID Connect Core 1.0, 5.6.2). Aggregated claims are passed over.
 */
export class DistributedClaim {
  readonly #claim: string
  readonly #issuer: KeyIssuer
  readonly #terms: TokenTerms
  readonly #issuers = new Map<string, IssuerTokens>()

  constructor(claim: string, issuer: KeyIssuer, terms: TokenTerms) {
    this.#claim = claim
    this.#issuer = issuer
    this.#terms = terms
  }

  /** The claims with the one that was elsewhere; the same ones if it was not. */
  async expand(claims: Claims): Promise<Claims> {
    const source = this.#sourceIn(claims)
    if (!source) return claims
    try {
      return { ...claims, [this.#claim]: await this.#fetch(source) }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new InvalidToken(`oidc: could not expand distributed claims: ${why}`)
    }
  }

  #sourceIn({ [this.#claim]: there, _claim_names: names, _claim_sources: sources }: Claims): ClaimSource | undefined {
    if (there !== undefined || names === undefined) return undefined
    const refuse = (why: string) => new InvalidToken(`oidc: could not expand distributed claims: oidc: ${why}`)
    if (!isRecord(names)) throw refuse('error parsing distributed claim names: not an object')
    if (sources === undefined) throw refuse('no claim sources')
    if (!isRecord(sources)) throw refuse('could not parse claim sources: not an object')
    const name = Object.hasOwn(names, this.#claim) ? names[this.#claim] : undefined
    if (name === undefined) return undefined
    const source = typeof name === 'string' && Object.hasOwn(sources, name) ? sources[name] : undefined
    if (!isRecord(source))
      throw new InvalidToken(
        `oidc: could not expand distributed claims: id token _claim_names contained a source ${name} missing in _claims_sources`,
      )
    return source.endpoint ? source : undefined
  }

  async #fetch({ endpoint, access_token }: ClaimSource): Promise<unknown> {
    const token = typeof access_token === 'string' ? access_token : undefined
    const url = String(endpoint)
    const answer = await httpsGet(url, { ca: this.#issuer.certificateAuthority, token }).catch((error: Error) => {
      throw new Error(`while getting distributed claim ${JSON.stringify(this.#claim)}: ${error.message}`)
    })
    const jwt = decodeJwt(answer.trim())
    if (typeof jwt?.claims.iss !== 'string')
      throw new Error(`getting untrusted issuer from endpoint ${url} failed for claim ${JSON.stringify(this.#claim)}`)
    const claims = await this.#tokensOf(jwt.claims.iss)
      .verify(jwt)
      .catch((error: Error) => {
        throw new Error(`verify distributed claim token: ${error.message}`)
      })
    if (claims[this.#claim] === undefined)
      throw new Error(
        `jwt returned by distributed claim endpoint ${JSON.stringify(url)} did not contain claim: ${this.#claim}`,
      )
    return claims[this.#claim]
  }

  #tokensOf(url: string): IssuerTokens {
    const known = this.#issuers.get(url)
    if (known) return known
    const [oldest] = this.#issuers.keys()
    if (this.#issuers.size >= MAX_ISSUERS && oldest !== undefined) this.#issuers.delete(oldest)
    const { certificateAuthority } = this.#issuer
    const issuer =
      url === this.#issuer.url ? this.#issuer : { url, ...(certificateAuthority && { certificateAuthority }) }
    const made = new IssuerTokens(issuer, this.#terms)
    this.#issuers.set(url, made)
    return made
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
