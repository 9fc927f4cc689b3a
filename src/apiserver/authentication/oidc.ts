import type { Clock } from '../../base/clock.ts'
import { AUTHENTICATED, type UserInfo } from '../identity.ts'
import { type Algorithm, decodeJwt, isSignedBy } from './jwt.ts'
import { OidcKeys } from './oidc-keys.ts'
import { forServer, InvalidToken, type TokenAuthenticator } from './token.ts'

/** A provider of OpenID Connect, and how its ID tokens name users. */
export interface OidcOptions {
  /** `https://...`, exactly as its tokens say. */
  readonly issuerUrl: string
  /** Whom the tokens must be for. */
  readonly clientId: string
  /** PEM of the authority that signed its certificate; those of the machine when absent. */
  readonly ca?: string
  /** `sub` when absent. */
  readonly usernameClaim?: string
  /** `-` for none. When absent, the issuer and `#`, unless the claim is `email`. */
  readonly usernamePrefix?: string
  readonly groupsClaim?: string
  readonly groupsPrefix?: string
  /** Claims that must be there with these values. */
  readonly requiredClaims?: Readonly<Record<string, string>>
  /** RS256 when absent. */
  readonly signingAlgorithms?: readonly Algorithm[]
}

type Claims = Readonly<Record<string, unknown>>

export function oidcTokens(options: OidcOptions, serverAudiences: readonly string[], clock: Clock): TokenAuthenticator {
  if (!options.issuerUrl.startsWith('https://'))
    throw new Error(`the issuer ${options.issuerUrl} must be reached by https`)
  const keys = new OidcKeys(options.issuerUrl, options.ca, clock)
  const algorithms = options.signingAlgorithms ?? ['RS256']
  return {
    async authenticate(token, audiences) {
      const jwt = decodeJwt(token)
      if (!jwt || jwt.claims.iss !== options.issuerUrl) return undefined
      const { kid } = jwt.header
      const known = await keys.forId(typeof kid === 'string' ? kid : undefined)
      const usable = known.filter(({ algorithm }) => algorithms.includes(algorithm))
      if (!isSignedBy(jwt, usable)) throw new InvalidToken('oidc: failed to verify the signature of the ID token')
      checkClaims(jwt.claims, options, clock.now())
      return forServer(userOf(jwt.claims, options), serverAudiences, audiences)
    },
  }
}

function checkClaims(claims: Claims, { clientId, requiredClaims = {} }: OidcOptions, now: number): void {
  const { aud, exp, nbf } = claims
  if (aud !== clientId && !(Array.isArray(aud) && aud.includes(clientId)))
    throw new InvalidToken(`oidc: expected audience ${JSON.stringify(clientId)} got ${JSON.stringify(aud)}`)
  if (typeof exp !== 'number' || exp * 1000 <= now) throw new InvalidToken('oidc: token is expired')
  if (typeof nbf === 'number' && nbf * 1000 > now + 60_000) throw new InvalidToken('oidc: token is not valid yet')
  for (const [name, value] of Object.entries(requiredClaims))
    if (claims[name] !== value) throw new InvalidToken(`oidc: required claim ${name} has not the value ${value}`)
}

function userOf(claims: Claims, options: OidcOptions): UserInfo {
  const { usernameClaim = 'sub', groupsClaim, groupsPrefix = '' } = options
  const name = claims[usernameClaim]
  if (typeof name !== 'string' || name === '') throw new InvalidToken(`oidc: claim ${usernameClaim} is not a name`)
  if (usernameClaim === 'email' && claims.email_verified !== undefined && claims.email_verified !== true)
    throw new InvalidToken('oidc: email not verified')
  const groups = groupsClaim === undefined ? [] : groupsOf(claims[groupsClaim], groupsClaim)
  const { jti } = claims
  const extra = typeof jti === 'string' && { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] }
  return {
    name: usernamePrefix(options) + name,
    groups: [...groups.map((group) => groupsPrefix + group), AUTHENTICATED],
    ...(extra && { extra }),
  }
}

function usernamePrefix({ usernameClaim = 'sub', usernamePrefix: prefix, issuerUrl }: OidcOptions): string {
  if (prefix === '-') return ''
  return prefix ?? (usernameClaim === 'email' ? '' : `${issuerUrl}#`)
}

function groupsOf(value: unknown, claim: string): readonly string[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [value]
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value
  throw new InvalidToken(`oidc: claim ${claim} is not a list of groups`)
}
