import type { Clock } from '../../base/clock.ts'
import type { JwtConfiguration } from './configuration.ts'
import type { Algorithm } from './jwt.ts'
import { jwtTokens } from './jwt-authenticator.ts'
import type { TokenAuthenticator } from './token.ts'

/** A provider of OpenID Connect, as the `--oidc-*` flags of kube-apiserver describe one. */
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

export function oidcTokens(options: OidcOptions, serverAudiences: readonly string[], clock: Clock): TokenAuthenticator {
  if (!options.issuerUrl.startsWith('https://'))
    throw new Error(`the issuer ${options.issuerUrl} must be reached by https`)
  return jwtTokens(configurationOf(options), {
    clock,
    serverAudiences,
    algorithms: options.signingAlgorithms ?? ['RS256'],
  })
}

function configurationOf(options: OidcOptions): JwtConfiguration {
  const { issuerUrl: url, clientId, ca, usernameClaim = 'sub', groupsClaim, groupsPrefix = '' } = options
  return {
    issuer: { url, audiences: [clientId], ...(ca && { certificateAuthority: ca }) },
    claimValidationRules: Object.entries(options.requiredClaims ?? {}).map(([claim, requiredValue]) => ({
      claim,
      requiredValue,
    })),
    claimMappings: {
      username: { claim: usernameClaim, prefix: usernamePrefix(options) },
      ...(groupsClaim && { groups: { claim: groupsClaim, prefix: groupsPrefix } }),
    },
  }
}

function usernamePrefix({ usernameClaim = 'sub', usernamePrefix: prefix, issuerUrl }: OidcOptions): string {
  if (prefix === '-') return ''
  return prefix ?? (usernameClaim === 'email' ? '' : `${issuerUrl}#`)
}
