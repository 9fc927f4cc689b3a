/** Limits that hold by every way a request can take: quota, limit ranges, policies, finalizers, owners, dry runs. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { APPLY, AskedCluster, EVERYTHING, JSON_PATCH, type Request, STRATEGIC } from './asking.ts'

let cluster: AskedCluster
const asDev = (request: Request) => cluster.send('dev', request)

beforeAll(async () => {
  cluster = await AskedCluster.start({ enableAdmissionPlugins: ['OwnerReferencesPermissionEnforcement'] })
  for (const name of ['own', 'limited', 'other']) {
    await cluster.make('/api/v1/namespaces', { metadata: { name } })
    const groups = ['', 'apps', 'batch', 'autoscaling', 'events.k8s.io']
    await cluster.grant('dev', [{ apiGroups: groups, resources: ['*'], verbs: EVERYTHING }], name)
  }
})
afterAll(() => cluster?.[Symbol.asyncDispose]())

async function refused(user: string, request: Request, code: number, says = ''): Promise<void> {
  const answer = await cluster.send(user, request)
  expect(`${answer.code} ${answer.text}`).toMatch(new RegExp(`^${code} `))
  expect(answer.text).toContain(says)
}

const amounts = (cpu: string) => ({ requests: { cpu, memory: '1Mi' }, limits: { cpu, memory: '1Mi' } })
const podOf = (name: string, resources: object = {}, more: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', resources }], ...more },
})

describe('a quota', () => {
  const at = (path: string) => `/api/v1/namespaces/limited/${path}`
  beforeAll(async () => {
    const hard = {
      pods: '1',
      'requests.cpu': '1',
      'services.nodeports': '1',
      'services.loadbalancers': '0',
      secrets: '2',
    }
    await cluster.make(at('resourcequotas'), { metadata: { name: 'q' }, spec: { hard } })
    const used = Object.fromEntries(Object.keys(hard).map((name) => [name, '0']))
    await cluster.must({ ask: `PATCH ${at('resourcequotas/q/status')}`, body: { status: { hard, used } } })
    await cluster.make(at('pods'), podOf('p', amounts('1')))
    await cluster.make(at('services'), { metadata: { name: 's' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } })
    await cluster.make(at('services'), { metadata: { name: 't' }, spec: { ports: [{ port: 80 }] } })
  })
  const more = (field: string) => `exceeded quota: q, requested: ${field}`
  const nodePort = { spec: { type: 'NodePort' } }
  const bigger = { spec: { containers: [{ name: 'c', resources: amounts('2') }] } }
  test.each<[how: string, says: string, request: () => Request]>([
    ['a second pod', 'exceeded quota', () => ({ ask: `POST ${at('pods')}`, body: podOf('x', amounts('1')) })],
    [
      'a second pod with a generated name',
      'exceeded quota',
      () => ({ ask: `POST ${at('pods')}`, body: { ...podOf('x', amounts('1')), metadata: { generateName: 'x-' } } }),
    ],
    [
      'a second pod by apply',
      'exceeded quota',
      () => ({
        ask: `PATCH ${at('pods/x')}?fieldManager=m`,
        body: { apiVersion: 'v1', kind: 'Pod', ...podOf('x', amounts('1')) },
        headers: APPLY,
      }),
    ],
    [
      'a dry run of a second pod',
      'exceeded quota',
      () => ({ ask: `POST ${at('pods')}?dryRun=All`, body: podOf('x', amounts('1')) }),
    ],
    [
      'a pod that says nothing of what it wants',
      'must specify requests.cpu',
      () => ({ ask: `POST ${at('pods')}`, body: podOf('x') }),
    ],
    [
      'a resize',
      more('requests.cpu=1'),
      () => ({ ask: `PATCH ${at('pods/p/resize')}`, body: bigger, headers: STRATEGIC }),
    ],
    [
      'a second node port by an update',
      more('services.nodeports=1'),
      () => ({ ask: `PATCH ${at('services/t')}`, body: nodePort }),
    ],
    [
      'a second node port by JSON patch',
      more('services.nodeports=1'),
      () => ({
        ask: `PATCH ${at('services/t')}`,
        body: [{ op: 'replace', path: '/spec/type', value: 'NodePort' }],
        headers: JSON_PATCH,
      }),
    ],
    [
      'one more port of a Service with node ports',
      more('services.nodeports=1'),
      () => ({
        ask: `PATCH ${at('services/s')}`,
        body: {
          spec: {
            ports: [
              { name: 'a', port: 80 },
              { name: 'b', port: 81 },
            ],
          },
        },
      }),
    ],
    [
      'a load balancer',
      'services.loadbalancers=1',
      () => ({ ask: `PATCH ${at('services/s')}`, body: { spec: { type: 'LoadBalancer' } } }),
    ],
  ])('is not exceeded by %s', async (_, says, request) => {
    await refused('dev', request(), 403, says)
  })

  test('is not taken from by a dry run', async () => {
    const used = async () => {
      const { text } = await cluster.send('admin', { ask: `GET ${at('resourcequotas/q')}` })
      return (JSON.parse(text) as { status: { used: Record<string, string> } }).status.used.secrets ?? '0'
    }
    const before = await used()
    for (let i = 0; i < 3; i++)
      expect(
        (await asDev({ ask: `POST ${at('secrets')}?dryRun=All`, body: { metadata: { generateName: 's-' } } })).code,
      ).toBe(201)
    expect(await used()).toBe(before)
  })

  test('is not changed by who may write all but quota', async () => {
    const rules = [
      { apiGroups: [''], resources: ['pods', 'services', 'secrets', 'resourcequotas/status'], verbs: EVERYTHING },
    ]
    await cluster.grant('tenant', rules, 'limited')
    await refused('tenant', { ask: `PATCH ${at('resourcequotas/q')}`, body: { spec: { hard: { pods: '99' } } } }, 403)
    await cluster.send('tenant', {
      ask: `PATCH ${at('resourcequotas/q/status')}`,
      body: { spec: { hard: { pods: '99' } } },
    })
    const { text } = await cluster.send('admin', { ask: `GET ${at('resourcequotas/q')}` })
    expect((JSON.parse(text) as { spec: { hard: object } }).spec.hard).toMatchObject({ pods: '1' })
  })
})

describe('a limit range', () => {
  const at = (path: string) => `/api/v1/namespaces/other/${path}`
  beforeAll(async () => {
    const limits = [{ type: 'Container', max: { cpu: '1' }, default: { cpu: '1' }, defaultRequest: { cpu: '1' } }]
    await cluster.make(at('limitranges'), { metadata: { name: 'l' }, spec: { limits } })
    await cluster.make(at('pods'), podOf('p', amounts('1')))
  })
  const bigger = { spec: { containers: [{ name: 'c', resources: amounts('2') }] } }
  const init = { initContainers: [{ name: 'i', image: 'i', resources: amounts('2') }] }
  test.each<[how: string, request: Request]>([
    ['a pod', { ask: `POST ${at('pods')}`, body: podOf('x', amounts('2')) }],
    ['an init container', { ask: `POST ${at('pods')}`, body: podOf('x', amounts('1'), init) }],
    [
      'apply',
      {
        ask: `PATCH ${at('pods/x')}?fieldManager=m`,
        body: { apiVersion: 'v1', kind: 'Pod', ...podOf('x', amounts('2')) },
        headers: APPLY,
      },
    ],
    ['a resize', { ask: `PATCH ${at('pods/p/resize')}`, body: bigger, headers: STRATEGIC }],
  ])('is not exceeded by %s', async (_, request) => {
    await refused('dev', request, 403, 'maximum cpu usage per Container is 1, but limit is 2')
  })
})

describe('a policy', () => {
  const GROUP = '/apis/admissionregistration.k8s.io/v1'
  const policy = (name: string, rule: object) => ({
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [{ operations: ['*'], ...rule }] },
      validations: [{ expression: 'false', message: `refused by ${name}` }],
    },
  })
  const bindingOf = (name: string) => ({
    metadata: { name },
    spec: {
      policyName: name,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'own' } } },
    },
  })
  const add = async (name: string, rule: object) => {
    await cluster.make(`${GROUP}/validatingadmissionpolicies`, policy(name, rule))
    await cluster.make(`${GROUP}/validatingadmissionpolicybindings`, bindingOf(name))
  }
  const scaler = (version: string) => ({
    ask: `POST /apis/autoscaling/${version}/namespaces/own/horizontalpodautoscalers?dryRun=All`,
    body: {
      metadata: { name: 'h' },
      spec: { maxReplicas: 1, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
    },
  })
  const involved = { kind: 'Pod', namespace: 'own', name: 'p' }
  beforeAll(async () => {
    await add('scalers', { apiGroups: ['autoscaling'], apiVersions: ['v2'], resources: ['horizontalpodautoscalers'] })
    await add('events', { apiGroups: [''], apiVersions: ['v1'], resources: ['events'] })
    await add('policies', { apiGroups: ['admissionregistration.k8s.io'], apiVersions: ['*'], resources: ['*'] })
  })
  const cases: readonly [what: string, by: string, request: Request][] = [
    ['an autoscaler of v2', 'scalers', scaler('v2')],
    ['an autoscaler of v1, which is the same object', 'scalers', scaler('v1')],
    [
      'an event',
      'events',
      {
        ask: 'POST /api/v1/namespaces/own/events?dryRun=All',
        body: { metadata: { name: 'e' }, involvedObject: involved },
      },
    ],
    [
      'an event of events.k8s.io, which is the same object',
      'events',
      {
        ask: 'POST /apis/events.k8s.io/v1/namespaces/own/events?dryRun=All',
        body: {
          metadata: { name: 'e' },
          eventTime: '2026-01-01T00:00:00.000000Z',
          reportingController: 'c.example.org/x',
          reportingInstance: 'i',
          action: 'a',
          reason: 'r',
          type: 'Normal',
          regarding: involved,
        },
      },
    ],
  ]
  test.each(cases)('refuses %s', async (_, by, request) => {
    await expect.poll(async () => (await asDev(request)).text, { timeout: 10_000 }).toContain(`refused by ${by}`)
  })

  test('cannot keep policies from being changed and deleted', async () => {
    const one = `${GROUP}/validatingadmissionpolicybindings/policies`
    expect(
      (await cluster.send('admin', { ask: `PATCH ${one}?dryRun=All`, body: { metadata: { labels: { a: 'b' } } } }))
        .code,
    ).toBe(200)
    expect((await cluster.send('admin', { ask: `DELETE ${one}` })).code).toBe(200)
  })
})

describe('owners and finalizers', () => {
  const CONFIG_MAPS = '/api/v1/namespaces/own/configmaps'
  let uid = ''
  beforeAll(async () => {
    const made = await cluster.make('/api/v1/namespaces/own/replicationcontrollers', {
      metadata: { name: 'owner' },
      spec: { selector: { a: 'b' }, template: { metadata: { labels: { a: 'b' } }, spec: podOf('x').spec } },
    })
    uid = (made.metadata as { uid: string }).uid
    await cluster.grant(
      'writer',
      [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get', 'patch', 'update'] }],
      'own',
    )
  })
  const owners = (more: object = {}) => ({
    ownerReferences: [{ apiVersion: 'v1', kind: 'ReplicationController', name: 'owner', uid, ...more }],
  })

  test('an owner is held up only by who may finalize it', async () => {
    const body = () => ({ metadata: { name: 'held', ...owners({ blockOwnerDeletion: true }) } })
    await refused('writer', { ask: `POST ${CONFIG_MAPS}`, body: body() }, 403, 'cannot set blockOwnerDeletion')
    await refused(
      'writer',
      {
        ask: `PATCH ${CONFIG_MAPS}/held?fieldManager=m`,
        body: { apiVersion: 'v1', kind: 'ConfigMap', ...body() },
        headers: APPLY,
      },
      403,
      'cannot set blockOwnerDeletion',
    )
    expect((await asDev({ ask: `POST ${CONFIG_MAPS}?dryRun=All`, body: body() })).code).toBe(201)
  })

  test('an object gets an owner only from who may delete it', async () => {
    await cluster.make(CONFIG_MAPS, { metadata: { name: 'kept' } })
    await refused(
      'writer',
      { ask: `PATCH ${CONFIG_MAPS}/kept`, body: { metadata: owners() } },
      403,
      "cannot set an ownerRef on a resource you can't delete",
    )
  })

  test('finalizers of a namespace are not taken away by an update', async () => {
    await cluster.grant('janitor', [
      { apiGroups: [''], resources: ['namespaces', 'namespaces/status'], verbs: EVERYTHING },
    ])
    for (const sub of ['', '/status']) {
      await cluster.send('janitor', { ask: `PATCH /api/v1/namespaces/own${sub}`, body: { spec: { finalizers: [] } } })
      const { text } = await cluster.send('admin', { ask: 'GET /api/v1/namespaces/own' })
      expect(text).toContain('"finalizers":["kubernetes"]')
    }
  })

  test.each(['default', 'kube-system', 'kube-public'])(
    'namespace %s is not deleted even by an administrator',
    async (name) => {
      await refused('admin', { ask: `DELETE /api/v1/namespaces/${name}` }, 403, 'this namespace may not be deleted')
    },
  )

  test('a dry run leaves nothing and gives away no address', async () => {
    const made = []
    for (let i = 0; i < 3; i++) {
      const ask = 'POST /api/v1/namespaces/own/services?dryRun=All'
      const body = { metadata: { generateName: 'dry-' }, spec: { ports: [{ port: 80 }] } }
      made.push(await asDev({ ask, body }))
    }
    expect(made.map(({ code }) => code)).toEqual([201, 201, 201])
    const { text } = await asDev({ ask: 'GET /api/v1/namespaces/own/services' })
    expect((JSON.parse(text) as { items: unknown[] }).items).toEqual([])
    const addresses = await cluster.send('admin', { ask: 'GET /apis/networking.k8s.io/v1/ipaddresses' })
    const inUse = (JSON.parse(addresses.text) as { items: { spec: { parentRef: { namespace: string } } }[] }).items
    expect(inUse.filter(({ spec }) => spec.parentRef.namespace === 'own')).toEqual([])
  })
})
