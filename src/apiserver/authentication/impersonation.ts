import type { IncomingHttpHeaders } from 'node:http'
import { badRequest } from '../../api/meta/api-error.ts'
import { type AccessAttributes, type Authorizer, authorize } from '../authorization/authorizer.ts'
import {
  ANONYMOUS,
  AUTHENTICATED,
  parseServiceAccountUser,
  serviceAccountGroups,
  UNAUTHENTICATED,
  type UserInfo,
} from '../identity.ts'
import { headerValues, readExtra } from './request-header.ts'

const PREFIX = 'impersonate-'
const EXTRA_PREFIX = 'impersonate-extra-'

export function wantsImpersonation(headers: IncomingHttpHeaders): boolean {
  for (const name in headers) if (name.startsWith(PREFIX)) return true
  return false
}

/** Whom the sender acts as (`kubectl --as`). Throws 403 unless they may impersonate each part of that identity. */
export async function impersonate(
  authorizer: Authorizer,
  sender: UserInfo,
  headers: IncomingHttpHeaders,
): Promise<UserInfo> {
  const name = headers['impersonate-user']
  const uid = headers['impersonate-uid']
  const asked = headerValues(headers['impersonate-group'])
  const extra = readExtra(headers, [EXTRA_PREFIX])
  if (typeof name !== 'string' || name === '')
    throw badRequest('requested impersonation of a group, uid or extra without impersonating a user')
  const account = parseServiceAccountUser(name)
  const checks: AccessAttributes[] = [
    account ? of('serviceaccounts', account.name, { namespace: account.namespace }) : of('users', name),
    ...asked.map((group) => of('groups', group)),
    ...(typeof uid === 'string' ? [of('uids', uid, { group: 'authentication.k8s.io' })] : []),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => of('userextras', value, { group: 'authentication.k8s.io', subresource: key })),
    ),
  ]
  for (const check of checks) await authorize(authorizer, sender, check)
  const groups = asked.length > 0 || !account ? asked : serviceAccountGroups(account.namespace)
  return {
    name,
    ...(typeof uid === 'string' && { uid }),
    groups: withImplied(name, groups),
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}

function of(resource: string, name: string, { group = '', namespace = '', subresource = '' } = {}): AccessAttributes {
  return { verb: 'impersonate', resource: { group, version: 'v1', resource, namespace, name, subresource } }
}

/** Everybody is either authenticated or not, whatever else they are. */
function withImplied(name: string, groups: readonly string[]): readonly string[] {
  const implied = name === ANONYMOUS.name ? UNAUTHENTICATED : AUTHENTICATED
  return groups.includes(AUTHENTICATED) || groups.includes(UNAUTHENTICATED) ? groups : [...groups, implied]
}
