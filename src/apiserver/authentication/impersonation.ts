import type { IncomingHttpHeaders } from 'node:http'
import { badRequest } from '../../api/meta/api-error.ts'
import {
  type AccessAttributes,
  type Authorizer,
  accessDenied,
  authorize,
  MASTERS,
} from '../authorization/authorizer.ts'
import {
  ANONYMOUS,
  AUTHENTICATED,
  parseServiceAccountUser,
  serviceAccountGroups,
  UNAUTHENTICATED,
  type UserInfo,
} from '../identity.ts'
import { type ImpersonationMode, MODES, nodeNameOf } from './impersonation-modes.ts'
import { headerValues, readExtra } from './request-header.ts'

const PREFIX = 'impersonate-'
const EXTRA_PREFIX = 'impersonate-extra-'
/** From so many checks on, whether all are allowed is asked first. */
const MANY = 4
const GROUP = 'authentication.k8s.io'

/** Whom somebody acts as, and by which right: `impersonate:user-info`, or undefined for the right to do so in general. */
export interface Impersonated {
  readonly user: UserInfo
  readonly constraint: string | undefined
}

export function wantsImpersonation(headers: IncomingHttpHeaders): boolean {
  for (const name in headers) if (name.startsWith(PREFIX)) return true
  return false
}

/**
 * Whom the sender acts as (`kubectl --as`). They need the right to be each part of that identity: in general
 * (`impersonate`), or in one of the ways that are limited to what they do meanwhile (https://kep.k8s.io/5284).
 * Throws the first 403.
 */
export async function impersonate(
  authorizer: Authorizer,
  sender: UserInfo,
  headers: IncomingHttpHeaders,
  request: AccessAttributes,
): Promise<Impersonated> {
  const wanted = wantedUser(headers)
  let refusal: unknown
  for (const mode of MODES) {
    if (!mode.fits(wanted, sender)) continue
    try {
      return { user: await actAs(authorizer, sender, wanted, mode, request), constraint: mode.constraint }
    } catch (error) {
      refusal ??= error
    }
  }
  throw refusal
}

function wantedUser(headers: IncomingHttpHeaders): UserInfo {
  const name = headers['impersonate-user']
  const uid = headers['impersonate-uid']
  const extra = readExtra(headers, [EXTRA_PREFIX])
  if (typeof name !== 'string' || name === '')
    throw badRequest('requested impersonation of a group, uid or extra without impersonating a user')
  return {
    name,
    ...(typeof uid === 'string' && uid !== '' && { uid }),
    groups: headerValues(headers['impersonate-group']),
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}

async function actAs(
  authorizer: Authorizer,
  sender: UserInfo,
  wanted: UserInfo,
  mode: ImpersonationMode,
  request: AccessAttributes,
): Promise<UserInfo> {
  const asker = mode.asker(sender)
  const ask = (attributes: AccessAttributes) => authorize(authorizer, asker, attributes)
  if (mode.on) await ask({ ...request, verb: `${mode.on}:${request.verb}` })
  const named = subjectOf(wanted.name, mode)
  await ask(named)
  if (wanted.uid !== undefined) await ask(part(mode, 'uids', wanted.uid, { group: GROUP }))
  const groups = wanted.groups.map((name) => part(mode, 'groups', name, { group: mode.group }))
  const extras = Object.entries(wanted.extra ?? {}).flatMap(([subresource, values]) =>
    values.map((value) => part(mode, 'userextras', value, { group: GROUP, subresource })),
  )
  if (mode.constraint) refuseUnsafe(asker, wanted, mode)
  await askAll(ask, groups, mode)
  await askAll(ask, extras, mode)
  return { ...wanted, groups: withImplied(wanted.name, groupsOf(wanted, mode)) }
}

async function askAll(
  ask: (attributes: AccessAttributes) => void | Promise<void>,
  checks: readonly AccessAttributes[],
  mode: ImpersonationMode,
): Promise<void> {
  const [first] = checks
  if (first && mode.constraint && checks.length >= MANY) {
    const resource = { ...first.resource!, name: '*', ...(first.resource!.subresource && { subresource: '*' }) }
    try {
      return await ask({ ...first, resource })
    } catch {
      // Not all of them: each by itself.
    }
  }
  for (const check of checks) await ask(check)
}

function subjectOf(name: string, mode: ImpersonationMode): AccessAttributes {
  const account = parseServiceAccountUser(name)
  if (account) return part(mode, 'serviceaccounts', account.name, { group: mode.group, namespace: account.namespace })
  const node = mode.constraint ? nodeNameOf(name) : undefined
  if (node !== undefined) return part(mode, 'nodes', mode.anyNode ? '*' : node, { group: mode.group })
  return part(mode, 'users', name, { group: mode.group })
}

function part(
  mode: ImpersonationMode,
  resource: string,
  name: string,
  { group = '', namespace = '', subresource = '' },
): AccessAttributes {
  return { verb: mode.verb, resource: { group, version: 'v1', resource, namespace, name, subresource } }
}

/** What the limited ways never allow, whoever asks. */
function refuseUnsafe(asker: UserInfo, { groups, extra = {} }: UserInfo, mode: ImpersonationMode): void {
  const refuse = (resource: string, name: string, why: string) => {
    throw accessDenied(asker, part(mode, resource, name, { group: GROUP }), why)
  }
  if (groups.includes('')) refuse('groups', '', 'impersonating the empty string group is not allowed')
  if (groups.includes(MASTERS)) refuse('groups', MASTERS, 'impersonating the system:masters group is not allowed')
  for (const [key, values] of Object.entries(extra)) {
    if (key === '') refuse('userextras', '', 'impersonating the empty string key in extra is not allowed')
    if (!DOMAIN_PREFIXED.test(key)) refuse('userextras', '', 'impersonating an invalid key in extra is not allowed')
    if (values.includes('')) refuse('userextras', '', 'impersonating the empty string value in extra is not allowed')
  }
}

/** `acme.io/team` */
const DOMAIN_PREFIXED = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/.+$/

/** Accounts and nodes are in groups that follow from their names. */
function groupsOf({ name, groups }: UserInfo, mode: ImpersonationMode): readonly string[] {
  if (groups.length > 0) return groups
  const account = parseServiceAccountUser(name)
  if (account) return serviceAccountGroups(account.namespace)
  return mode.constraint && nodeNameOf(name) !== undefined ? ['system:nodes'] : []
}

/** Everybody is either authenticated or not, whatever else they are. */
function withImplied(name: string, groups: readonly string[]): readonly string[] {
  const implied = name === ANONYMOUS.name ? UNAUTHENTICATED : AUTHENTICATED
  return groups.includes(AUTHENTICATED) || groups.includes(UNAUTHENTICATED) ? groups : [...groups, implied]
}
