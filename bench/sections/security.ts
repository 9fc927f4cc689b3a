import { RbacAuthorizer } from '../../src/apiserver/authorization/rbac/rbac-authorizer.ts'
import { RoleIndex } from '../../src/apiserver/authorization/rbac/role-index.ts'
import { type Section, us } from '../report.ts'

const ROLES = 1_000
const DECISIONS = 200_000
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']
const RESOURCES = ['pods', 'services', 'secrets', 'configmaps', 'events']

export const securitySection: Section = {
  name: 'security',
  title: `RBAC decisions, ${ROLES} roles and ${ROLES} bindings`,
  async run({ quick }) {
    const count = quick ? DECISIONS / 10 : DECISIONS
    const goal = 'under 5 us'
    return [
      { what: 'each role to another user', ours: us(decide(spread(), count, 'user-7')), peer: '', goal },
      { what: 'all roles to one user', ours: us(decide(gathered(), count, 'user')), peer: '', goal },
      { what: 'refused', ours: us(decide(spread(), count, 'nobody')), peer: '', goal },
      {
        what: 'a role written, then a decision',
        ours: us(decideAnew(spread(), count / 10, 'user-7')),
        peer: '',
        goal: '',
      },
    ]
  },
}

const name = (i: number) => `role-${i}`
const rules = (i: number) => [
  { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: [RESOURCES[i % RESOURCES.length]!] },
]

function indexOf(userOf: (i: number) => string): RoleIndex {
  const index = new RoleIndex()
  for (let i = 0; i < ROLES; i++) {
    index.setRole('', name(i), rules(i))
    const subjects = [{ kind: 'User', name: userOf(i) }]
    const binding = { metadata: { name: name(i) }, roleRef: { kind: 'ClusterRole', name: name(i) }, subjects }
    index.setBinding('', name(i), binding)
  }
  return index
}

const spread = () => indexOf((i) => `user-${i}`)
const gathered = () => indexOf(() => 'user')

/** Microseconds per decision of somebody who asks for this and that. */
function decide(index: RoleIndex, count: number, userName: string): number {
  const authorizer = new RbacAuthorizer(index)
  const user = { name: userName, groups: ['system:authenticated'] }
  return perDecision(count, (i) => authorizer.decide(user, attributes(i)))
}

/** The same when a role changes between any two decisions: nothing that was found out holds any longer. */
function decideAnew(index: RoleIndex, count: number, userName: string): number {
  const authorizer = new RbacAuthorizer(index)
  const user = { name: userName, groups: ['system:authenticated'] }
  return perDecision(count, (i) => {
    index.setRole('', name(i % ROLES), rules(i))
    authorizer.decide(user, attributes(i))
  })
}

const attributes = (i: number) => ({
  verb: VERBS[i % VERBS.length]!,
  resource: {
    group: '',
    resource: RESOURCES[i % RESOURCES.length]!,
    subresource: '',
    namespace: `namespace-${i % 20}`,
    name: `object-${i}`,
  },
})

function perDecision(count: number, decideOne: (i: number) => void): number {
  for (let i = 0; i < count / 10; i++) decideOne(i)
  const start = process.cpuUsage()
  for (let i = 0; i < count; i++) decideOne(i)
  const { user, system } = process.cpuUsage(start)
  return (user + system) / count
}
