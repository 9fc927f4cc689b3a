import { generateKeyPairSync } from 'node:crypto'
import type { Changes } from '../../base/changes.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { type Authenticator, authenticatorOf } from './authenticator.ts'
import { bootstrapTokens } from './bootstrap-tokens.ts'
import { issuedBy } from './client-certificate.ts'
import type { AnonymousConfiguration, AuthenticationConfiguration } from './configuration.ts'
import type { ConfiguredAuthentication } from './configured.ts'
import { type OidcOptions, oidcTokens } from './oidc.ts'
import { type RequestHeaderOptions, requestHeaderAuthenticator } from './request-header.ts'
import { type ServiceAccountTokenOptions, ServiceAccountTokens } from './service-account-tokens.ts'
import { type StaticToken, staticTokens } from './static-tokens.ts'
import { type AuthenticationWebhook, webhookTokens } from './webhook-tokens.ts'

/** Ways to show who one is, besides client certificates. */
export interface AuthenticationOptions {
  /** With a key of this process alone when absent: its tokens end with it. */
  readonly serviceAccounts?: ServiceAccountTokenOptions
  readonly staticTokens?: readonly StaticToken[]
  /** Providers of OpenID Connect whose ID tokens are believed. */
  readonly oidc?: readonly OidcOptions[]
  readonly webhook?: AuthenticationWebhook
  readonly requestHeader?: RequestHeaderOptions
  /** Issuers whose tokens are believed, and what becomes of their claims. */
  readonly configuration?: AuthenticationConfiguration
  /** What replaces the configuration while the server runs. */
  readonly configurationChanges?: Changes<AuthenticationConfiguration>
  /** Whether requests without any credentials go on, as `system:anonymous`; no by default. */
  readonly anonymous?: boolean
  /** Where they go on in any case, as whole paths. */
  readonly anonymousPaths?: readonly string[]
}

export interface Authentication {
  readonly serviceAccounts: ServiceAccountTokens
  /** `clientCa` is the authority whose certificates name users. */
  authenticator(clientCa: string): Authenticator
  /** Also without a network, for reviews of tokens. */
  readonly tokens: Pick<Authenticator, 'authenticateToken'>
}

interface AuthenticationContext {
  readonly feed: CacheFeed
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly signal: AbortSignal
}

export async function startAuthentication(
  context: AuthenticationContext,
  options: AuthenticationOptions,
): Promise<Authentication> {
  const { feed, clock, random } = context
  const serviceAccounts = new ServiceAccountTokens(
    options.serviceAccounts ?? { keys: async () => [temporaryKey()] },
    feed,
    clock,
    random,
  )
  const { audiences } = serviceAccounts
  const configured = await configuredWays(context, options, serviceAccounts)
  const parts = {
    clock,
    ...(options.requestHeader && { requestHeader: requestHeaderAuthenticator(options.requestHeader) }),
    tokens: [
      serviceAccounts,
      ...(options.staticTokens?.length ? [staticTokens(options.staticTokens, audiences)] : []),
      bootstrapTokens(feed, clock, audiences),
      ...(options.oidc ?? []).map((one) => oidcTokens(one, audiences, clock)),
      ...(configured ? [configured.tokens] : []),
      ...(options.webhook ? [webhookTokens(options.webhook, audiences, clock)] : []),
    ],
    serverAudiences: audiences,
    anonymous: (path: string) =>
      options.anonymousPaths?.includes(path) === true ||
      isAnonymous(path, configured?.anonymous(), options.anonymous ?? false),
  }
  return {
    serviceAccounts,
    tokens: authenticatorOf(parts),
    authenticator: (clientCa) =>
      // Only with a proxy does the TLS layer believe others than those whose certificates name users.
      authenticatorOf(options.requestHeader ? { ...parts, isUserCertificate: issuedBy(clientCa) } : parts),
  }
}

/** A server without a configuration starts without the weight of what reads one. */
async function configuredWays(
  context: AuthenticationContext,
  { configuration, configurationChanges }: AuthenticationOptions,
  { audiences, issuer }: ServiceAccountTokens,
): Promise<ConfiguredAuthentication | undefined> {
  if (!configuration) return undefined
  const { startConfigured } = await import('./configured.ts')
  const known = { serverAudiences: audiences, ownIssuers: [issuer] }
  return startConfigured(configuration, configurationChanges, { ...context, ...known })
}

function isAnonymous(path: string, configured: AnonymousConfiguration | undefined, otherwise: boolean): boolean {
  if (!configured) return otherwise
  const { enabled = false, conditions = [] } = configured
  return enabled && (conditions.length === 0 || conditions.some((condition) => condition.path === path))
}

function temporaryKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}
