/** Who makes a request. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export const AUTHENTICATED = 'system:authenticated'
export const UNAUTHENTICATED = 'system:unauthenticated'
export const ANONYMOUS: UserInfo = { name: 'system:anonymous', groups: [UNAUTHENTICATED] }

const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:'

export const serviceAccountUser = (namespace: string, name: string) => `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`

export const serviceAccountGroups = (namespace: string): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
]

/** The account behind a user name, if it is one. */
export function parseServiceAccountUser(user: string): { namespace: string; name: string } | undefined {
  if (!user.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined
  const [namespace, name, ...more] = user.slice(SERVICE_ACCOUNT_PREFIX.length).split(':')
  return namespace && name && more.length === 0 ? { namespace, name } : undefined
}

/** The identity that a controller, or anything else with a service account, acts under in this process. */
export function serviceAccountIdentity(namespace: string, name: string, uid?: string): UserInfo {
  return {
    name: serviceAccountUser(namespace, name),
    ...(uid && { uid }),
    groups: [...serviceAccountGroups(namespace), AUTHENTICATED],
  }
}

const NODE_PREFIX = 'system:node:'
const NODES = 'system:nodes'

/** The node that this user is the kubelet of; empty text for a member of system:nodes that names none. */
export function nodeOf(user: UserInfo): string | undefined {
  if (!user.groups.includes(NODES)) return undefined
  return user.name.startsWith(NODE_PREFIX) ? user.name.slice(NODE_PREFIX.length) : ''
}
