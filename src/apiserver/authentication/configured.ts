import type { Changes } from '../../base/changes.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { checkAuthenticationConfiguration } from './check-configuration.ts'
import { type AnonymousConfiguration, type AuthenticationConfiguration, hasExpressions } from './configuration.ts'
import { jwtTokens } from './jwt-authenticator.ts'
import { firstToKnow, type TokenAuthenticator } from './token.ts'

interface ConfiguredContext {
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly serverAudiences: readonly string[]
  /** Of this server's own tokens; nobody else may be them. */
  readonly ownIssuers: readonly string[]
}

/** What an AuthenticationConfiguration says now. */
export interface ConfiguredAuthentication {
  readonly tokens: TokenAuthenticator
  /** Undefined where it says nothing of it. */
  anonymous(): AnonymousConfiguration | undefined
}

/** Throws what is wrong with the first configuration. A later one that is wrong changes nothing. */
export async function startConfigured(
  first: AuthenticationConfiguration,
  changes: Changes<AuthenticationConfiguration> | undefined,
  context: ConfiguredContext,
): Promise<ConfiguredAuthentication> {
  let current = await read(first, context)
  changes?.(async (next) => {
    try {
      current = await read(next, context)
      context.log.info('the authentication configuration changed', { issuers: current.issuers })
    } catch (error) {
      context.log.error('the new authentication configuration is not used', { error: String(error) })
    }
  }, context.signal)
  return {
    tokens: { authenticate: (token, audiences) => firstToKnow(current.authenticators, token, audiences) },
    anonymous: () => current.anonymous,
  }
}

async function read(configuration: AuthenticationConfiguration, context: ConfiguredContext) {
  const jwt = Array.isArray(configuration?.jwt) ? configuration.jwt : []
  // A cluster without expressions starts without the weight of their engine.
  const cel = jwt.some((one) => one && hasExpressions(one)) ? await import('./claim-expressions.ts') : undefined
  const compiler = await cel?.loadClaimCompiler()
  checkAuthenticationConfiguration(configuration, compiler, context.ownIssuers)
  const { clock, serverAudiences } = context
  return {
    authenticators: jwt.map((one) => jwtTokens(one, { clock, serverAudiences, compiler, ...(cel && { cel }) })),
    anonymous: configuration.anonymous,
    issuers: jwt.map(({ issuer }) => issuer.url),
  }
}
