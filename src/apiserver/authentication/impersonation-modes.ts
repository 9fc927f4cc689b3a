import { parseServiceAccountUser, type UserInfo } from '../identity.ts'

/** One way to act as somebody else, with verbs of its own. */
export interface ImpersonationMode {
  /** The right to be somebody. */
  readonly verb: string
  /** With `:get` and so on, the right to do something meanwhile; any where it is absent. */
  readonly on?: string
  /** What the audit log names; undefined for the way without limits. */
  readonly constraint: string | undefined
  /** The API group of the users, accounts and nodes that one may be. */
  readonly group: string
  /** The right is to be the own node, whichever that is. */
  readonly anyNode?: boolean
  fits(wanted: UserInfo, sender: UserInfo): boolean
  /** The sender, as authorizers see them. */
  asker(sender: UserInfo): UserInfo
}

const NODE_NAME = 'authentication.kubernetes.io/node-name'
const NODE_KEYS = 'authentication.kubernetes.io/associated-node-keys'
const NODE_PREFIX = 'system:node:'
const DNS_SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** The node whose kubelet has this user name. */
export function nodeNameOf(user: string): string | undefined {
  const name = user.startsWith(NODE_PREFIX) ? user.slice(NODE_PREFIX.length) : ''
  return DNS_SUBDOMAIN.test(name) ? name : undefined
}

const isAccount = (name: string) => parseServiceAccountUser(name) !== undefined
const isOnlyNamed = ({ uid, groups, extra }: UserInfo) =>
  uid === undefined && groups.length === 0 && extra === undefined

const limited = (
  name: string,
  fits: ImpersonationMode['fits'],
  more: Partial<ImpersonationMode> = {},
): ImpersonationMode => ({
  verb: `impersonate:${name}`,
  on: `impersonate-on:${name}`,
  constraint: `impersonate:${name}`,
  group: 'authentication.k8s.io',
  asker: (sender) => sender,
  fits,
  ...more,
})

/** From the most to the least limited: the first that is allowed counts. */
export const MODES: readonly ImpersonationMode[] = [
  limited('associated-node', (wanted, sender) => isOnlyNamed(wanted) && isOnNode(sender, nodeNameOf(wanted.name)), {
    anyNode: true,
    // The right is that of the account, on whatever node it runs.
    asker: (sender) => ({ ...sender, extra: { [NODE_KEYS]: Object.keys(sender.extra ?? {}).sort() } }),
  }),
  limited('arbitrary-node', (wanted) => isOnlyNamed(wanted) && nodeNameOf(wanted.name) !== undefined),
  limited('serviceaccount', (wanted) => isOnlyNamed(wanted) && isAccount(wanted.name)),
  limited('user-info', ({ name }) => nodeNameOf(name) === undefined && !isAccount(name)),
  { verb: 'impersonate', constraint: undefined, group: '', fits: () => true, asker: (sender) => sender },
]

/** Whether the sender is an account whose token was made for a pod on that node. */
function isOnNode({ name, extra }: UserInfo, node: string | undefined): boolean {
  const [own, ...more] = extra?.[NODE_NAME] ?? []
  return node !== undefined && isAccount(name) && own === node && more.length === 0
}
