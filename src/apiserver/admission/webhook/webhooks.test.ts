import { afterEach, describe, expect, it } from 'vitest'
import type { MutatingWebhook } from '../../../api/generated/admissionregistration-v1.ts'
import type { ConfigMap } from '../../../api/generated/core-v1.ts'
import { mutatingWebhookConfigurationKind } from '../../../api/kinds/admissionregistration/mutating-webhook-configuration.ts'
import { validatingWebhookConfigurationKind } from '../../../api/kinds/admissionregistration/validating-webhook-configuration.ts'
import { deploymentKind } from '../../../api/kinds/apps/deployment/kind.ts'
import { configMapKind } from '../../../api/kinds/core/config-map.ts'
import { namespaceKind } from '../../../api/kinds/core/namespace.ts'
import { podKind } from '../../../api/kinds/core/pod/kind.ts'
import { type AdmissionServer, startAdmissionServer } from '../admission-server.fixture.ts'
import { patchOf, type Respond, startWebhookServer, type WebhookServer, webhookAt } from './webhook-server.fixture.ts'

let plane: AdmissionServer
let hooks: WebhookServer

async function start(respond: Respond): Promise<void> {
  hooks = await startWebhookServer(respond)
  plane = await startAdmissionServer({ resolveService: hooks.resolveService })
}

afterEach(async () => {
  await plane[Symbol.asyncDispose]()
  await hooks[Symbol.asyncDispose]()
})

const register = (type: 'mutating' | 'validating', webhooks: MutatingWebhook[], name = 'hooks') => {
  if (type === 'mutating')
    return plane.client.resource(mutatingWebhookConfigurationKind).create({ metadata: { name }, webhooks })
  return plane.client.resource(validatingWebhookConfigurationKind).create({ metadata: { name }, webhooks })
}
const maps = () => plane.client.resource(configMapKind).namespace('default')
const create = (data: Record<string, string>, labels?: Record<string, string>): Promise<ConfigMap> =>
  maps().create({ metadata: { name: 'c', ...(labels && { labels }) }, data })
const message = (promise: Promise<unknown>) =>
  promise.then(
    () => 'allowed',
    (error: Error) => error.message,
  )
const set = (key: string, value = 'x') => patchOf([{ op: 'add', path: `/data/${key}`, value }])

describe('what a validating webhook answers', () => {
  const refused = 'admission webhook "v.example.com" denied the request'
  const failed = 'Internal error occurred: failed calling webhook "v.example.com": '
  const invalid = `${failed}received invalid webhook response: `
  it.each<[why: string, respond: Respond, expected: string | RegExp]>([
    ['yes', () => ({}), 'allowed'],
    ['no', () => ({ allowed: false }), `${refused} without explanation`],
    ['no, and why', () => ({ allowed: false, status: { message: 'too blue', code: 403 } }), `${refused}: too blue`],
    ['no, with a reason', () => ({ allowed: false, status: { reason: 'Blue' } }), `${refused}: Blue`],
    ['to another question', () => ({ uid: 'other' }), /received invalid webhook response: expected response.uid="/],
    ['with a patch', () => set('a'), `${invalid}validating webhook may not return response.patch`],
    ['nothing', () => ({ answer: {} }), `${invalid}webhook response was absent`],
    ['null', () => ({ answer: null }), `${invalid}webhook response was absent`],
    ['a truth that is none', () => ({ allowed: 'yes' }), `${refused} without explanation`],
    ['text', () => ({ answer: 'hello' }), /failed to call webhook: couldn't get version\/kind; json parse error/],
    [
      'an error',
      () => ({ answer: 'oops', status: 500 }),
      `${failed}failed to call webhook: an error on the server ("oops") has prevented the request from succeeding`,
    ],
    [
      'another kind',
      (request) => ({ answer: { kind: 'X', apiVersion: 'v1', response: { uid: request.uid, allowed: true } } }),
      `${invalid}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got v1, Kind=X`,
    ],
  ])('%s', async (_, respond, expected) => {
    await start(respond)
    await register('validating', [webhookAt('v')])
    const told = await message(create({}))
    if (typeof expected === 'string') expect(told).toBe(expected)
    else expect(told).toMatch(expected)
  })

  it('a refusal keeps the code of the webhook, and no code below 400', async () => {
    await start(({ name }) => ({ allowed: false, status: { code: name === 'a' ? 418 : 200 } }))
    await register('validating', [webhookAt('v')])
    await expect(maps().create({ metadata: { name: 'a' } })).rejects.toMatchObject({ code: 418 })
    await expect(maps().create({ metadata: { name: 'b' } })).rejects.toMatchObject({ code: 400 })
  })
})

describe('a webhook that cannot be asked', () => {
  it.each<[why: string, change: Partial<MutatingWebhook>, expected: RegExp]>([
    [
      'fails closed',
      { timeoutSeconds: 1 },
      /^Internal error .* "v.example.com": failed to call webhook: Post "https:\/\/converter.default.svc:443\/v\?timeout=1s": context deadline exceeded$/,
    ],
    ['fails open', { timeoutSeconds: 1, failurePolicy: 'Ignore' }, /^allowed$/],
    [
      'is not trusted',
      { clientConfig: { service: webhookAt('v').clientConfig.service! } },
      /failed to call webhook: Post .* self-signed certificate/,
    ],
  ])('%s', async (_, change, expected) => {
    await start(() => undefined)
    await register('validating', [webhookAt('v', change)])
    expect(await message(create({}))).toMatch(expected)
  })

  it('does not hold up others', async () => {
    await start(() => undefined)
    await register('validating', [
      webhookAt('v', { timeoutSeconds: 2, namespaceSelector: { matchLabels: { slow: 'y' } } }),
    ])
    await plane.client.resource(namespaceKind).create({ metadata: { name: 'slow', labels: { slow: 'y' } } })
    const slow = message(
      plane.client
        .resource(configMapKind)
        .namespace('slow')
        .create({ metadata: { name: 's' } }),
    )
    expect(await Promise.race([slow, message(create({}))])).toBe('allowed')
    expect(await slow).toMatch(/context deadline exceeded/)
  })
})

describe('who is asked about what', () => {
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }
  it.each<[why: string, change: Partial<MutatingWebhook>, isAsked: boolean]>([
    ['by rule', { rules: [rule] }, true],
    ['by stars', { rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }] }, true],
    ['another group', { rules: [{ ...rule, apiGroups: ['apps'] }] }, false],
    ['another version', { rules: [{ ...rule, apiVersions: ['v2'] }] }, false],
    ['another operation', { rules: [{ ...rule, operations: ['DELETE'] }] }, false],
    ['a door only', { rules: [{ ...rule, resources: ['configmaps/status'] }] }, false],
    ['every door, but not the house', { rules: [{ ...rule, resources: ['*/status'] }] }, false],
    ['what has a namespace', { rules: [{ ...rule, scope: 'Namespaced' }] }, true],
    ['what has none', { rules: [{ ...rule, scope: 'Cluster' }] }, false],
    ['by label', { objectSelector: { matchLabels: { color: 'blue' } } }, true],
    ['by another label', { objectSelector: { matchLabels: { color: 'red' } } }, false],
    ['by namespace', { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } } }, true],
    [
      'by another namespace',
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
      false,
    ],
    [
      'by condition',
      { matchConditions: [{ name: 'a', expression: 'object.data.a == "1" && request.namespace == "default"' }] },
      true,
    ],
    [
      'by a condition that does not hold',
      { matchConditions: [{ name: 'a', expression: 'request.userInfo.username != "admin"' }] },
      false,
    ],
    [
      'by a right',
      {
        matchConditions: [
          { name: 'a', expression: 'authorizer.group("").resource("pods").namespace("x").check("get").allowed()' },
        ],
      },
      true,
    ],
    [
      'by the right to do this',
      { matchConditions: [{ name: 'a', expression: '!authorizer.requestResource.check("create").allowed()' }] },
      false,
    ],
    [
      'one condition is false, the other fails',
      {
        matchConditions: [
          { name: 'a', expression: 'object.data.zz == "1"' },
          { name: 'b', expression: 'false' },
        ],
      },
      false,
    ],
  ])('%s', async (_, change, isAsked) => {
    await start(() => ({}))
    await register('validating', [webhookAt('v', change)])
    await create({ a: '1' }, { color: 'blue' })
    expect(hooks.calls).toHaveLength(isAsked ? 1 : 0)
  })

  it('a condition that fails refuses, unless failures are ignored', async () => {
    await start(() => ({}))
    const matchConditions = [{ name: 'a', expression: 'object.data.zz == "1"' }]
    await register('validating', [webhookAt('v', { matchConditions })], 'a')
    expect(await message(create({}))).toBe(
      `configmaps "c" is forbidden: expression 'object.data.zz == "1"' resulted in error: no such key: zz`,
    )
    await plane.client.resource(validatingWebhookConfigurationKind).delete('a')
    await register('validating', [webhookAt('v', { matchConditions, failurePolicy: 'Ignore' })], 'b')
    expect(await message(create({}))).toBe('allowed')
    expect(hooks.calls).toHaveLength(0)
  })

  it('conditions that do not compile are refused', async () => {
    await start(() => ({}))
    const conditions = [
      { name: 'a', expression: 'object.' },
      { name: 'b', expression: '"text"' },
      { name: 'c', expression: 'params.a' },
    ]
    const told = await message(register('mutating', [webhookAt('v', { matchConditions: conditions })]))
    expect(told).toMatch(
      /webhooks\[0\].matchConditions\[0\].expression: Invalid value: "object.": compilation failed: ERROR/,
    )
    expect(told).toMatch(/webhooks\[0\].matchConditions\[1\].expression: Invalid value: .*: must evaluate to bool/)
    expect(told).toMatch(/undeclared reference to 'params'/)
  })

  it('nobody is asked about webhooks themselves', async () => {
    await start(() => ({ allowed: false }))
    const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }]
    await register('validating', [webhookAt('v', { rules })], 'a')
    await register('mutating', [webhookAt('v', { rules })], 'b')
    expect(await message(create({}))).toMatch(/denied/)
    await plane.client.resource(validatingWebhookConfigurationKind).delete('a')
    await plane.client.resource(mutatingWebhookConfigurationKind).delete('b')
    expect(await message(create({}))).toBe('allowed')
  })

  it('by another version of the same objects, converted; not where the version has to be exact', async () => {
    await start(() => ({}))
    const rules = [
      { ...rule, apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers'] },
    ]
    await register('validating', [
      webhookAt('equivalent', { rules }),
      webhookAt('exact', { rules, matchPolicy: 'Exact' }),
    ])
    const resource = { group: 'autoscaling', version: 'v2', plural: 'horizontalpodautoscalers', namespaced: true }
    const body = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'h' },
      spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } },
    }
    const transport = plane.server.transport({ name: 'admin', groups: ['system:masters'] })
    await transport.call({ verb: 'create', resource, namespace: 'default', body })
    expect(hooks.calls.map(({ path }) => path)).toEqual(['/equivalent'])
    const [{ request } = { request: undefined }] = hooks.calls
    expect(request?.kind.version).toBe('v1')
    expect(request?.requestKind.version).toBe('v2')
    expect(request?.object?.apiVersion).toBe('autoscaling/v1')
  })
})

describe('what is asked', () => {
  it('each operation, with the objects before and after', async () => {
    await start(() => ({}))
    await register('validating', [webhookAt('v')])
    const made = await create({ a: '1' })
    await maps().update({ ...made, data: { a: '2' } })
    await maps().delete('c')
    expect(
      hooks.calls.map(({ request: { operation, object, oldObject, options } }) => [
        operation,
        (object as ConfigMap | null)?.data?.a,
        (oldObject as ConfigMap | null)?.data?.a,
        options.kind,
      ]),
    ).toEqual([
      ['CREATE', '1', undefined, 'CreateOptions'],
      ['UPDATE', '2', '1', 'UpdateOptions'],
      ['DELETE', undefined, '2', 'DeleteOptions'],
    ])
  })

  it('a scale is asked about as a Scale, and can be changed as one', async () => {
    await start(() => patchOf([{ op: 'replace', path: '/spec/replicas', value: 7 }]))
    const rules = [
      { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['deployments/scale'] },
    ]
    await register('mutating', [webhookAt('m', { rules })])
    const deployments = plane.client.resource(deploymentKind).namespace('default')
    const labels = { app: 'a' }
    await deployments.create({
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    })
    const transport = plane.server.transport({ name: 'admin', groups: ['system:masters'] })
    const body = { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name: 'd' }, spec: { replicas: 2 } }
    await transport.call({
      verb: 'update',
      resource: deploymentKind,
      namespace: 'default',
      name: 'd',
      subresource: 'scale',
      body,
    })
    expect(hooks.calls[0]?.request).toMatchObject({
      kind: { kind: 'Scale' },
      object: { kind: 'Scale', spec: { replicas: 2 } },
    })
    expect((await deployments.get('d')).spec?.replicas).toBe(7)
  })
})

describe('mutating webhooks', () => {
  it('change the object one after the other, in the order of their names', async () => {
    await start(({ object }, path) => set(path.slice(1), String(Object.keys((object as ConfigMap).data ?? {}).length)))
    await register('mutating', [webhookAt('c')], 'b')
    await register('mutating', [webhookAt('a'), webhookAt('b')], 'a')
    expect((await create({ x: '1' })).data).toEqual({ x: '1', a: '1', b: '2', c: '3' })
  })

  it('are asked again if somebody after them changed the object and they want to know', async () => {
    await start((_, path) => (path === '/b' ? set('b') : {}))
    await register('mutating', [webhookAt('a', { reinvocationPolicy: 'IfNeeded' }), webhookAt('b'), webhookAt('c')])
    await create({ x: '1' })
    expect(hooks.calls.map(({ path }) => path)).toEqual(['/a', '/b', '/c', '/a'])
  })

  it('what they add gets its defaults, is pruned, and is seen by the built-in plugins', async () => {
    const container = { name: 'side', image: 'side', nonsense: 1 }
    await start(() =>
      patchOf([
        { op: 'add', path: '/spec/containers/-', value: container },
        { op: 'add', path: '/spec/tolerations', value: [] },
        { op: 'add', path: '/status/phase', value: 'Running' },
        { op: 'replace', path: '/metadata/uid', value: 'mine' },
      ]),
    )
    await register('mutating', [
      webhookAt('m', {
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
      }),
    ])
    const pod = await plane.client
      .resource(podKind)
      .namespace('default')
      .create({ metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } })
    const side = pod.spec?.containers[1]
    expect(side).toMatchObject({
      name: 'side',
      imagePullPolicy: 'Always',
      terminationMessagePath: '/dev/termination-log',
    })
    expect(side).not.toHaveProperty('nonsense')
    expect(pod.spec?.tolerations).toHaveLength(2)
    expect(pod.status?.phase).toBe('Pending')
    expect(pod.metadata.uid).not.toBe('mine')
  })

  it.each<[why: string, operations: object[], expected: RegExp]>([
    ['rename', [{ op: 'replace', path: '/metadata/name', value: 'z' }], /the name of the object \(z\) does not match/],
    [
      'break the object',
      [{ op: 'add', path: '/data', value: 7 }],
      /Internal error occurred: json: cannot unmarshal number/,
    ],
    ['make it invalid', [{ op: 'add', path: '/data/a~1b', value: '1' }], /is invalid: data\[a\/b\]/],
    ['patch what is not there', [{ op: 'remove', path: '/nothing/here' }], /failed calling webhook "m.example.com"/],
  ])('cannot %s', async (_, operations, expected) => {
    await start(() => patchOf(operations))
    await register('mutating', [webhookAt('m')])
    expect(await message(create({ a: '1' }))).toMatch(expected)
  })

  it('are not told to have changed what they refuse', async () => {
    await start(() => ({ allowed: false, ...set('a') }))
    await register('mutating', [webhookAt('m')])
    expect(await message(create({}))).toMatch(/denied the request without explanation/)
  })
})
