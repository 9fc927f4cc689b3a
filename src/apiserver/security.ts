import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Store } from '../store/store.ts'
import type { AdmissionPlugin } from './admission/plugin.ts'
import { roleEscalation } from './admission/role-escalation.ts'
import { tokenSecrets } from './admission/token-secrets.ts'
import { issuerDiscoveryPaths } from './authentication/issuer-discovery.ts'
import { type Authentication, type AuthenticationOptions, startAuthentication } from './authentication/start.ts'
import { type Authorizer, authorize } from './authorization/authorizer.ts'
import { rulesHeld } from './authorization/rbac/rules-held.ts'
import { type AuthorizationOptions, startAuthorization } from './authorization/start.ts'
import { reviewActions } from './registry/action/reviews.ts'
import { tokenRequestAction } from './registry/action/token-request.ts'
import type { Action } from './registry/actions.ts'
import type { PathTable } from './request/api-request.ts'
import type { ResourceRequest } from './request/resource-request.ts'
import type { CacheFeed } from './watch-cache/cache-feed.ts'

export interface SecurityOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly authentication?: AuthenticationOptions
  readonly authorization?: AuthorizationOptions
  /** PEM of what clients trust this server by, for those who are given a token in a Secret. */
  readonly rootCertificate?: () => Promise<string>
}

/** Who somebody is and what they may do. */
export interface Security {
  readonly authentication: Authentication
  readonly authorizer: Authorizer
  readonly admission: readonly AdmissionPlugin[]
  readonly actions: Readonly<Record<string, Action>>
  readonly paths: PathTable
  /** A change that creates what it wanted to change needs the right to create, too. */
  mayCreate(request: ResourceRequest): void | Promise<void>
}

export async function startSecurity(options: SecurityOptions, feed: CacheFeed, signal: AbortSignal): Promise<Security> {
  const { clock, random, log } = options
  const authentication = await startAuthentication({ feed, clock, random, log, signal }, options.authentication ?? {})
  const { authorizer, index } = await startAuthorization({ feed, clock, signal }, options.authorization ?? {})
  const { serviceAccounts, tokens } = authentication
  const rootCertificate = options.rootCertificate ?? (async () => undefined)
  return {
    authentication,
    authorizer,
    admission: [roleEscalation(index, authorizer), tokenSecrets(serviceAccounts, feed, rootCertificate)],
    actions: {
      'create serviceaccounts/token': tokenRequestAction(serviceAccounts),
      ...reviewActions({
        authorizer,
        tokens,
        rulesFor: (user, namespace) => rulesHeld(index, user, namespace),
        hasOtherRules: options.authorization?.webhook !== undefined,
      }),
    },
    paths: issuerDiscoveryPaths(serviceAccounts),
    mayCreate({ user, kind, namespace, name }) {
      const resource = { group: kind.group, version: kind.version, resource: kind.plural, namespace, name }
      return authorize(authorizer, user, { verb: 'create', resource: { ...resource, subresource: '' } })
    },
  }
}
