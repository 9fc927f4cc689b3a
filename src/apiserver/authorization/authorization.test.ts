import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PolicyRule } from '../../api/generated/rbac-v1.ts'
import type { ApiCall } from '../../client/transport.ts'
import { type Anything, call, outcome, RESOURCES, refusal, SecureServer } from '../security.fixture.ts'

const RBAC = 'rbac.authorization.k8s.io'
const rule = (verbs: string, resources: string, more: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs: verbs.split(' '),
  apiGroups: [''],
  resources: resources.split(' '),
  ...more,
})

let server: SecureServer
beforeAll(async () => {
  server = await SecureServer.start()
  await server.create(RESOURCES.namespaces, { metadata: { name: 'shop' } })
  for (const namespace of ['default', 'shop'])
    for (const name of ['open', 'closed']) await server.create(RESOURCES.secrets, { metadata: { name } }, namespace)
  await server.grant('ann', [rule('get list', 'secrets')], 'shop')
  await server.grant('bob', [rule('get', 'secrets', { resourceNames: ['open'] })])
  await server.grant('bob', [rule('list watch', 'secrets', { resourceNames: ['open'] })])
  await server.grant('group:dev', [rule('get', 'pods/log pods')])
  await server.grant('sub', [rule('update', '*/status')])
  await server.grant('cat', [{ verbs: ['get'], nonResourceURLs: ['/metrics', '/custom/*'] }])
  await server.grant('account:shop/robot', [rule('*', '*', { apiGroups: ['*'] })], 'shop')
  await server.bind('missing', 'no-such-role')
})
afterAll(() => server[Symbol.asyncDispose]())

/** Who, what: allowed? */
const isAllowed = async (
  user: string,
  groups: string[],
  attributes: object,
): Promise<{ allowed: boolean; reason: string }> => {
  const body = { spec: { user, groups, ...attributes } }
  const { status } = await call(server.admin, { verb: 'create', resource: RESOURCES.accessReviews, body })
  return status as { allowed: boolean; reason: string }
}
const resource = (verb: string, what: string, namespace = '', name = '', group = '') => {
  const [plural, subresource = ''] = what.split('/')
  return { resourceAttributes: { verb, group, resource: plural, subresource, namespace, name } }
}

describe('rules', () => {
  it.each([
    ['ann', 'get', 'secrets', 'shop', 'open', true],
    ['ann', 'get', 'secrets', 'default', 'open', false],
    ['ann', 'get', 'secrets', '', '', false],
    ['ann', 'delete', 'secrets', 'shop', 'open', false],
    ['ann', 'get', 'secrets/status', 'shop', 'open', false],
    ['bob', 'get', 'secrets', 'default', 'open', true],
    ['bob', 'get', 'secrets', 'default', 'closed', false],
    ['bob', 'get', 'secrets', 'default', '', false],
    ['bob', 'list', 'secrets', 'default', '', false],
    ['bob', 'list', 'secrets', 'default', 'open', true],
    ['sub', 'update', 'pods/status', 'default', 'a', true],
    ['sub', 'update', 'pods', 'default', 'a', false],
    ['system:serviceaccount:shop:robot', 'delete', 'pods/exec', 'shop', 'x', true],
    ['system:serviceaccount:shop:robot', 'delete', 'pods', 'default', 'x', false],
    ['system:serviceaccount:default:robot', 'delete', 'pods', 'shop', 'x', false],
    ['ann\n', 'get', 'secrets', 'shop', 'open', false],
  ])('%s %s %s in %j named %j: %s', async (user, verb, what, namespace, name, allowed) => {
    expect((await isAllowed(user, [], resource(verb, what, namespace, name))).allowed).toBe(allowed)
  })

  it('hold for groups, and a group is not a user', async () => {
    expect((await isAllowed('x', ['dev'], resource('get', 'pods/log', 'default', 'a'))).allowed).toBe(true)
    expect((await isAllowed('dev', [], resource('get', 'pods/log', 'default', 'a'))).allowed).toBe(false)
    expect((await isAllowed('x\ng:dev', [], resource('get', 'pods/log', 'default', 'a'))).allowed).toBe(false)
  })

  it.each([
    ['/metrics', true],
    ['/metrics/', false],
    ['/custom/a/b', true],
    ['/custom', false],
  ])('of path %s: %s', async (path, allowed) => {
    const attributes = { nonResourceAttributes: { verb: 'get', path } }
    expect((await isAllowed('cat', [], attributes)).allowed).toBe(allowed)
  })

  it('tell why', async () => {
    expect((await isAllowed('ann', [], resource('get', 'secrets', 'shop'))).reason).toMatch(
      /^RBAC: allowed by RoleBinding "ann-\d+\/shop" of Role "ann-\d+" to User "ann"$/,
    )
    expect((await isAllowed('missing', [], resource('get', 'secrets', 'shop'))).reason).toBe(
      'RBAC: clusterrole.rbac.authorization.k8s.io "no-such-role" not found',
    )
  })

  it('let a list or watch be limited to a name that may be read', async () => {
    const list = (fieldSelector: string) =>
      server
        .as('bob')
        .call({ verb: 'list', resource: RESOURCES.secrets, namespace: 'default', query: { fieldSelector } })
    expect(await outcome(list('metadata.name=open'))).toBe('ok')
    expect(await outcome(list('metadata.name=closed'))).toBe('403 Forbidden')
    expect(await outcome(list('metadata.name!=open'))).toBe('403 Forbidden')
  })

  it('hold from the moment they are written, and end with it', async () => {
    const get = () =>
      outcome(server.as('dan').call({ verb: 'get', resource: RESOURCES.secrets, namespace: 'shop', name: 'open' }))
    expect(await get()).toBe('403 Forbidden')
    await server.create(RESOURCES.roles, { metadata: { name: 'dan' }, rules: [rule('get', 'secrets')] }, 'shop')
    expect(await get()).toBe('403 Forbidden')
    const roleRef = { apiGroup: RBAC, kind: 'Role', name: 'dan' }
    const subjects = [{ kind: 'User', name: 'dan' }]
    await server.create(RESOURCES.roleBindings, { metadata: { name: 'dan' }, roleRef, subjects }, 'shop')
    expect(await get()).toBe('ok')
    const place = { namespace: 'shop', name: 'dan' }
    const patch = { patchType: 'application/merge-patch+json', body: { rules: [rule('list', 'secrets')] } } as const
    await server.admin.call({ verb: 'patch', resource: RESOURCES.roles, ...place, ...patch })
    expect(await get()).toBe('403 Forbidden')
    await server.admin.call({
      ...patch,
      verb: 'patch',
      resource: RESOURCES.roles,
      ...place,
      body: { rules: [rule('get', 'secrets')] },
    })
    expect(await get()).toBe('ok')
    await server.admin.call({ verb: 'delete', resource: RESOURCES.roleBindings, ...place })
    expect(await get()).toBe('403 Forbidden')
  })

  it('refuse with words that name who, what and where', async () => {
    const get = { verb: 'get', resource: RESOURCES.secrets, namespace: 'default', name: 'open' } as const
    expect(await refusal(server.as('ann').call(get))).toBe(
      'secrets "open" is forbidden: User "ann" cannot get resource "secrets" in API group "" in the namespace "default"',
    )
  })
})

describe('the default roles', () => {
  it.each([
    ['everybody who is known', 'ann', [], 'create', 'selfsubjectaccessreviews', 'authorization.k8s.io', true],
    ['the scheduler', 'system:kube-scheduler', [], 'create', 'pods/binding', '', true],
    ['the scheduler', 'system:kube-scheduler', [], 'get', 'secrets', '', false],
    ['the controller manager', 'system:kube-controller-manager', [], 'list', 'widgets', 'example.com', true],
    ['the controller manager', 'system:kube-controller-manager', [], 'delete', 'pods', '', false],
    ['a controller', 'system:serviceaccount:kube-system:replicaset-controller', [], 'create', 'pods', '', true],
    [
      'a controller',
      'system:serviceaccount:kube-system:replicaset-controller',
      [],
      'create',
      'deployments',
      'apps',
      false,
    ],
    ['administrators', 'root', ['system:masters'], 'delete', 'anything', 'example.com', true],
    ['the proxy', 'system:kube-proxy', [], 'watch', 'endpointslices', 'discovery.k8s.io', true],
    [
      'a joining machine',
      'system:bootstrap:abcdef',
      ['system:bootstrappers'],
      'create',
      'certificatesigningrequests',
      'certificates.k8s.io',
      true,
    ],
    ['a joining machine', 'system:bootstrap:abcdef', ['system:bootstrappers'], 'get', 'secrets', '', false],
  ])('%s (%s %j) %s %s.%s: %s', async (_, user, groups, verb, what, group, allowed) => {
    const known = [...groups, 'system:authenticated']
    expect((await isAllowed(user, known, resource(verb, what, 'default', '', group))).allowed).toBe(allowed)
  })

  it('are mended when a server starts; what was added stays, and what shall be left alone is', async () => {
    const place = {
      verb: 'patch',
      resource: RESOURCES.clusterRoles,
      patchType: 'application/merge-patch+json',
    } as const
    const added = rule('get', 'configmaps')
    await server.admin.call({ ...place, name: 'system:basic-user', body: { rules: [added] } })
    const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' }
    await server.admin.call({ ...place, name: 'system:heapster', body: { metadata: { annotations }, rules: [] } })
    await server.admin.call({ verb: 'delete', resource: RESOURCES.clusterRoleBindings, name: 'system:discovery' })
    await using second = await SecureServer.start({ store: server.store })
    const rulesOf = async (name: string) =>
      (await call(second.admin, { verb: 'get', resource: RESOURCES.clusterRoles, name })).rules as PolicyRule[]
    const mended = await rulesOf('system:basic-user')
    expect(mended[0]).toEqual(added)
    expect(mended.flatMap((one) => one.resources)).toContain('selfsubjectreviews')
    expect(await rulesOf('system:heapster')).toEqual([])
    const again = { verb: 'get', resource: RESOURCES.clusterRoleBindings, name: 'system:discovery' } as const
    expect(await outcome(second.admin.call(again))).toBe('ok')
  })
})

describe('nobody gives away more than they have', () => {
  const write = (resource: (typeof RESOURCES)['roles'], body: object): Partial<ApiCall> => ({
    verb: 'create',
    resource,
    body,
  })
  const toSelf = (kind: string, name: string, as = 'eve') => ({
    metadata: { name: `b-${name}`.replaceAll(':', '-') },
    roleRef: { apiGroup: RBAC, kind, name },
    subjects: [{ kind: 'User', name: as }],
  })
  const full = [rule('*', '*', { apiGroups: ['*'] })]

  beforeAll(async () => {
    // Eve may write everything of RBAC, and read configmaps.
    await server.grant('eve', [RBAC_WRITE])
    await server.grant('ned', [RBAC_WRITE, rule('get', 'secrets', { resourceNames: ['open'] })])
    await server.grant('eve', [rule('get', 'configmaps')])
    await server.grant('ida', [RBAC_WRITE, { ...RBAC_WRITE, verbs: ['escalate', 'bind'] }])
    await server.bind('pia', 'admin', 'shop')
    await server.grant('pia', [RBAC_WRITE], 'shop')
  })
  const RBAC_WRITE: PolicyRule = {
    verbs: ['create', 'get', 'list', 'update', 'patch', 'delete'],
    apiGroups: [RBAC],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
  }

  it.each<[string, string, Partial<ApiCall>, string]>([
    [
      'a role of everything',
      'eve',
      write(RESOURCES.clusterRoles, { metadata: { name: 'all' }, rules: full }),
      '403 Forbidden',
    ],
    [
      'a role of secrets',
      'eve',
      write(RESOURCES.roles, { metadata: { name: 's' }, rules: [rule('get', 'secrets')] }),
      '403 Forbidden',
    ],
    [
      'a role of all names',
      'ned',
      write(RESOURCES.roles, { metadata: { name: 'n' }, rules: [rule('get', 'secrets')] }),
      '403 Forbidden',
    ],
    [
      'a role of what she has',
      'eve',
      write(RESOURCES.roles, { metadata: { name: 'own' }, rules: [rule('get', 'configmaps')] }),
      'ok',
    ],
    [
      'a role of less than she has',
      'eve',
      write(RESOURCES.roles, {
        metadata: { name: 'less' },
        rules: [rule('get', 'configmaps', { resourceNames: ['a'] })],
      }),
      'ok',
    ],
    [
      'a role of paths',
      'eve',
      write(RESOURCES.clusterRoles, {
        metadata: { name: 'p' },
        rules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
      }),
      '403 Forbidden',
    ],
    [
      'an aggregated role',
      'eve',
      write(RESOURCES.clusterRoles, {
        metadata: { name: 'agg' },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
      }),
      '403 Forbidden',
    ],
    [
      'a binding to cluster-admin',
      'eve',
      write(RESOURCES.clusterRoleBindings, toSelf('ClusterRole', 'cluster-admin')),
      '403 Forbidden',
    ],
    [
      'a binding to cluster-admin in a namespace',
      'eve',
      write(RESOURCES.roleBindings, toSelf('ClusterRole', 'cluster-admin')),
      '403 Forbidden',
    ],
    [
      'a binding to a role that is not there',
      'eve',
      write(RESOURCES.roleBindings, toSelf('Role', 'later')),
      '404 NotFound',
    ],
    [
      'a binding to the scheduler',
      'eve',
      write(RESOURCES.clusterRoleBindings, toSelf('ClusterRole', 'system:kube-scheduler')),
      '403 Forbidden',
    ],
    ['a binding to what she has', 'eve', write(RESOURCES.roleBindings, toSelf('Role', 'own')), 'ok'],
    [
      'a role of everything by escalate',
      'ida',
      write(RESOURCES.clusterRoles, { metadata: { name: 'ida' }, rules: full }),
      'ok',
    ],
    [
      'a binding to cluster-admin by bind',
      'ida',
      write(RESOURCES.clusterRoleBindings, toSelf('ClusterRole', 'cluster-admin', 'ida')),
      'ok',
    ],
  ])('%s by %s', async (_, user, request, expected) => {
    const place = request.resource!.namespaced ? { namespace: 'default' } : {}
    expect(await outcome(server.as(user).call({ ...place, ...request } as ApiCall))).toBe(expected)
  })

  it.each([
    ['by PUT of more rules', { verb: 'update', body: { metadata: { name: 'own' }, rules: full } }],
    ['by a merge patch', { verb: 'patch', patchType: 'application/merge-patch+json', body: { rules: full } }],
    [
      'by a JSON patch',
      {
        verb: 'patch',
        patchType: 'application/json-patch+json',
        body: [{ op: 'replace', path: '/rules', value: full }],
      },
    ],
    [
      'by server-side apply',
      {
        verb: 'patch',
        patchType: 'application/apply-patch+yaml',
        query: { fieldManager: 'eve', force: 'true' },
        body: { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata: { name: 'own' }, rules: full },
      },
    ],
  ])('nor %s', async (_, request) => {
    const place = { resource: RESOURCES.roles, namespace: 'default', name: 'own' }
    expect(await refusal(server.as('eve').call({ ...place, ...request } as ApiCall))).toContain(
      'user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
    )
  })

  it('a change that gives nothing is nobody’s escalation', async () => {
    await server.create(RESOURCES.roles, { metadata: { name: 'strong' }, rules: full })
    const label = { patchType: 'application/merge-patch+json', body: { metadata: { labels: { a: 'b' } } } } as const
    const place = { resource: RESOURCES.roles, namespace: 'default', name: 'strong' }
    expect(await outcome(server.as('eve').call({ verb: 'patch', ...place, ...label }))).toBe('ok')
  })

  it('a patch or PUT that creates needs the right to create', async () => {
    await server.grant('pat', [
      rule('get patch update', 'configmaps'),
      rule('update', 'leases', { apiGroups: ['coordination.k8s.io'] }),
    ])
    const apply = {
      patchType: 'application/apply-patch+yaml',
      query: { fieldManager: 'pat' },
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'new' } },
    } as const
    const place = { resource: RESOURCES.configMaps, namespace: 'default', name: 'new' }
    expect(await refusal(server.as('pat').call({ verb: 'patch', ...place, ...apply }))).toContain(
      'User "pat" cannot create resource "configmaps"',
    )
    const lease = { resource: RESOURCES.leases, namespace: 'default', name: 'new', body: { metadata: { name: 'new' } } }
    expect(await outcome(server.as('pat').call({ verb: 'update', ...lease }))).toBe('403 Forbidden')
  })
})

describe('reviews', () => {
  it('list the rules that hold for somebody in a namespace', async () => {
    const body = { spec: { namespace: 'shop' } }
    const { status } = await call(server.as('ann'), { verb: 'create', resource: RESOURCES.rulesReviews, body })
    const { resourceRules, nonResourceRules, incomplete } = status as {
      resourceRules: PolicyRule[]
      nonResourceRules: PolicyRule[]
      incomplete: boolean
    }
    expect(incomplete).toBe(false)
    expect(resourceRules).toContainEqual({ verbs: ['get', 'list'], apiGroups: [''], resources: ['secrets'] })
    expect(nonResourceRules.flatMap((one) => one.nonResourceURLs)).toContain('/version')
  })

  it('of a namespace are about that namespace', async () => {
    const body = { spec: { user: 'ann', ...resource('get', 'secrets', 'default') } }
    const review = { verb: 'create', resource: RESOURCES.localAccessReviews, namespace: 'shop', body } as const
    expect(await outcome(server.admin.call(review))).toBe('422 Invalid')
  })

  it('are not for everybody', async () => {
    const body = { spec: { user: 'bob', ...resource('get', 'secrets', 'default') } }
    expect(await outcome(server.as('ann').call({ verb: 'create', resource: RESOURCES.accessReviews, body }))).toBe(
      '403 Forbidden',
    )
    const self = { spec: { ...resource('get', 'secrets', 'shop') } }
    const answer = await call(server.as('ann'), { verb: 'create', resource: RESOURCES.selfAccessReviews, body: self })
    expect((answer as Anything).status).toMatchObject({ allowed: true })
  })
})
