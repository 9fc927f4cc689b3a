import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { at, type Json, listAt, textAt } from '../tools/json.ts'
import { expectStatus, useCluster } from '../tools/use-cluster.ts'
import {
  type AdmissionRequestBody,
  jsonPatch,
  startWebhookServer,
  type WebhookServer,
} from '../tools/webhook-server.ts'

/** What the conformance suite asks of admission webhooks, in our own words; see docs/conformance.md. */

const NAMESPACE = 'conformance-webhooks'
const REGISTRATION = '/apis/admissionregistration.k8s.io/v1'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
const server = useCluster(NAMESPACE)
type Which = 'Mutating' | 'Validating'

const dataOf = ({ object }: AdmissionRequestBody) => (at(object, 'data') ?? {}) as Json
/** Adds a key to the data if another is there. */
const stage = (from: string, to: string) => (request: AdmissionRequestBody) =>
  dataOf(request)[from] ? jsonPatch({ op: 'add', path: `/data/${to}`, value: 'yes' }) : {}
const denied = (message: string) => ({ allowed: false, status: { message } })

const ANSWERS = {
  'deny-configmap': (request: AdmissionRequestBody) =>
    dataOf(request)['webhook-e2e-test'] === 'webhook-disallow'
      ? denied('the configmap contains unwanted key and value')
      : {},
  'deny-pod': ({ object }: AdmissionRequestBody) => {
    const name = textAt(object, 'metadata.name')
    if (name === 'hangs') return undefined
    return at(object, 'spec.containers.0.name') === 'disallowed'
      ? denied('the pod contains unwanted container name')
      : {}
  },
  'deny-attach': ({ name, subResource }: AdmissionRequestBody) =>
    subResource === 'attach' && name === 'to-be-attached' ? denied(`attaching to pod '${name}' is not allowed`) : {},
  'deny-definition': ({ object }: AdmissionRequestBody) =>
    at(object, 'metadata.labels.unwanted') ? denied('the crd contains unwanted label') : {},
  'deny-custom': ({ object, oldObject }: AdmissionRequestBody) =>
    at(object ?? oldObject, 'data.bad') === 'yes' ? denied('the custom resource contains unwanted data') : {},
  'deny-all': () => denied('nothing goes'),
  'stage-1': stage('mutation-start', 'mutation-stage-1'),
  'stage-2': stage('mutation-stage-1', 'mutation-stage-2'),
  label: () => jsonPatch({ op: 'add', path: '/metadata/labels', value: { 'added-label': 'yes' } }),
  'init-container': () =>
    jsonPatch({ op: 'add', path: '/spec/initContainers', value: [{ name: 'added', image: 'busybox' }] }),
  slow: async () => {
    await sleep(1500)
    return {}
  },
}

let webhooks: WebhookServer
beforeAll(async () => {
  webhooks = await startWebhookServer(ANSWERS)
})
afterAll(() => webhooks?.[Symbol.asyncDispose]())
afterEach(async () => {
  for (const which of ['mutating', 'validating'])
    expectStatus(await server.api.delete(`${REGISTRATION}/${which}webhookconfigurations`), 200)
})

const placeOf = (which: Which) => `${REGISTRATION}/${which.toLowerCase()}webhookconfigurations`
const rule = (resources: string[], operations = ['CREATE'], apiGroups = ['*']) => ({
  apiGroups,
  apiVersions: ['*'],
  operations,
  resources,
})
const webhook = (answer: keyof typeof ANSWERS, rules: object[], change: object = {}) => ({
  name: `${answer}.example.com`,
  clientConfig: { url: `${webhooks.url}/${answer}`, caBundle: webhooks.caBundle },
  rules,
  admissionReviewVersions: ['v1', 'v1beta1'],
  sideEffects: 'None',
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } },
  ...change,
})
const everywhere = { namespaceSelector: {} }
const configuration = (which: Which, name: string, hooks: object[]) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: `${which}WebhookConfiguration`,
  metadata: { name, labels: { test: 'webhooks' } },
  webhooks: hooks,
})
const register = async (which: Which, name: string, hooks: object[]) =>
  expectStatus(await server.api.create(placeOf(which), configuration(which, name, hooks)), 201).object
const refused = async (answer: ReturnType<typeof server.api.get>, message: string | RegExp) =>
  expect(expectStatus(await answer, 400).object).toMatchObject({ message: expect.stringMatching(message) })

const BAD = { 'webhook-e2e-test': 'webhook-disallow' }
const configMap = (name: string, data: object = {}) => ({ metadata: { name }, data })
const pod = (name: string, container = 'app') => ({
  metadata: { name },
  spec: { containers: [{ name: container, image: 'app:1' }] },
})
const createdData = async (name: string) =>
  at(
    expectStatus(await server.api.create(CONFIG_MAPS, configMap(name, { 'mutation-start': 'yes' })), 201).object,
    'data',
  )
const UNCHANGED = { 'mutation-start': 'yes' }
const CHANGED = { ...UNCHANGED, 'mutation-stage-1': 'yes' }

describe('validating webhooks', () => {
  test('are in the discovery documents, like mutating ones', async () => {
    const groups = listAt((await server.api.get('/apis')).object, 'groups')
    const group = groups.find(({ name }) => name === 'admissionregistration.k8s.io')
    expect(listAt(group, 'versions')).toContainEqual({ groupVersion: 'admissionregistration.k8s.io/v1', version: 'v1' })
    const versions = listAt((await server.api.get('/apis/admissionregistration.k8s.io')).object, 'versions')
    expect(versions.map(({ version }) => version)).toContain('v1')
    const resources = listAt((await server.api.get(REGISTRATION)).object, 'resources').map(({ name }) => name)
    expect(resources).toEqual(
      expect.arrayContaining(['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']),
    )
  })

  test('deny pods and configmaps, also changed ones, and do not let hanging pass', async () => {
    const both = ['CREATE', 'UPDATE']
    await register('Validating', 'deny', [
      webhook('deny-pod', [rule(['pods'])], { timeoutSeconds: 1 }),
      webhook('deny-configmap', [rule(['configmaps'], both)], {
        namespaceSelector: { matchExpressions: [{ key: 'skip-webhook', operator: 'NotIn', values: ['yes'] }] },
      }),
    ])
    await refused(server.api.create(PODS, pod('bad', 'disallowed')), 'the pod contains unwanted container name')
    const hanging = expectStatus(await server.api.create(PODS, pod('hangs')), 500)
    expect(textAt(hanging.object, 'message')).toMatch(/failed calling webhook.*deadline/)
    expectStatus(await server.api.create(PODS, pod('fine')), 201)
    const bad = 'the configmap contains unwanted key and value'
    await refused(server.api.create(CONFIG_MAPS, configMap('bad', BAD)), bad)
    const fine = expectStatus(await server.api.create(CONFIG_MAPS, configMap('allowed')), 201).object
    await refused(server.api.update(`${CONFIG_MAPS}/allowed`, { ...fine, data: BAD }), bad)
    await refused(server.api.patch(`${CONFIG_MAPS}/allowed`, { data: BAD }), bad)
    const exempt = { metadata: { name: 'exempt', labels: { 'skip-webhook': 'yes' } } }
    expectStatus(await server.api.create('/api/v1/namespaces', exempt), 201)
    expectStatus(await server.api.create('/api/v1/namespaces/exempt/configmaps', configMap('bad', BAD)), 201)
  })

  test('deny attaching to a pod', async () => {
    const connecting = [rule(['pods/attach'], ['CONNECT'], [''])]
    await register('Validating', 'attach', [webhook('deny-attach', connecting)])
    expectStatus(await server.api.create(PODS, pod('to-be-attached')), 201)
    const attach = server.api.request('POST', `${PODS}/to-be-attached/attach?stdout=1`)
    await refused(attach, "denied the request: attaching to pod 'to-be-attached' is not allowed")
  })

  test('deny custom resources: their creation, update and deletion', async () => {
    const things = await defineThings('denied')
    const rules = [rule(['denied'], ['CREATE', 'UPDATE', 'DELETE'])]
    await register('Validating', 'custom', [webhook('deny-custom', rules)])
    const bad = 'the custom resource contains unwanted data'
    const thing = (name: string, data: object) => ({ ...things.of('v1'), metadata: { name }, data })
    await refused(server.api.create(things.path('v1'), thing('bad', { bad: 'yes' })), bad)
    expectStatus(await server.api.create(things.path('v1'), thing('fine', { bad: 'no' })), 201)
    await refused(server.api.patch(`${things.path('v1')}/fine`, { data: { bad: 'yes' } }), bad)
    expectStatus(await server.api.delete(`${REGISTRATION}/validatingwebhookconfigurations/custom`), 200)
    expectStatus(await server.api.patch(`${things.path('v1')}/fine`, { data: { bad: 'yes' } }), 200)
    await register('Validating', 'custom', [webhook('deny-custom', rules)])
    await refused(server.api.delete(`${things.path('v1')}/fine`), bad)
  })

  test('deny a definition of custom resources', async () => {
    await register('Validating', 'definitions', [
      webhook('deny-definition', [rule(['customresourcedefinitions'])], everywhere),
    ])
    const definition = definitionOf('unwanted', ['v1'])
    const labelled = { ...definition, metadata: { ...definition.metadata, labels: { unwanted: 'yes' } } }
    await refused(server.api.create(DEFINITIONS, labelled), 'the crd contains unwanted label')
    expectStatus(await server.api.get(`${DEFINITIONS}/${definition.metadata.name}`), 404)
  })

  test('that cannot be reached refuse everything if they are to fail closed', async () => {
    const clientConfig = { url: `${webhooks.url}/stage-1` }
    await register('Validating', 'closed', [
      webhook('deny-all', [rule(['configmaps'])], { failurePolicy: 'Fail', clientConfig }),
    ])
    const answer = expectStatus(await server.api.create(CONFIG_MAPS, configMap('closed')), 500)
    expect(answer.object).toMatchObject({ reason: 'InternalError', message: /failed calling webhook/ })
  })

  test.each([
    ['a short time and Fail', { timeoutSeconds: 1, failurePolicy: 'Fail' }, 500],
    ['a short time and Ignore', { timeoutSeconds: 1, failurePolicy: 'Ignore' }, 201],
    ['a long time', { timeoutSeconds: 5, failurePolicy: 'Fail' }, 201],
    ['the time nobody gave', { failurePolicy: 'Fail' }, 201],
  ])('that are slow are waited for: %s', async (title, change, code) => {
    const [{ timeoutSeconds }] = listAt(
      await register('Validating', 'slow', [webhook('slow', [rule(['configmaps'])], change)]),
      'webhooks',
    ) as [Json]
    expect(timeoutSeconds).toBe((change as { timeoutSeconds?: number }).timeoutSeconds ?? 10)
    const name = title.toLowerCase().replaceAll(' ', '-')
    const answer = expectStatus(await server.api.create(CONFIG_MAPS, configMap(name)), code)
    if (code === 500) expect(textAt(answer.object, 'message')).toMatch(/failed calling webhook.*deadline exceeded/)
  })
})

describe('mutating webhooks', () => {
  test('change a configmap one after the other', async () => {
    await register('Mutating', 'staged', [
      webhook('stage-1', [rule(['configmaps'])]),
      webhook('stage-2', [rule(['configmaps'])]),
    ])
    expect(await createdData('staged')).toEqual({ ...CHANGED, 'mutation-stage-2': 'yes' })
  })

  test('add to a pod what then gets its defaults', async () => {
    await register('Mutating', 'pods', [webhook('init-container', [rule(['pods'])])])
    const made = expectStatus(await server.api.create(PODS, pod('defaulted')), 201).object
    expect(listAt(made, 'spec.initContainers')).toMatchObject([
      { name: 'added', terminationMessagePolicy: 'File', imagePullPolicy: 'Always' },
    ])
  })

  test('change custom resources, and what the schema does not know is pruned', async () => {
    const things = await defineThings('changed')
    await register('Mutating', 'custom', [
      webhook('stage-1', [rule(['changed'])]),
      webhook('stage-2', [rule(['changed'])]),
    ])
    const thing = { ...things.of('v1'), metadata: { name: 'one' }, data: UNCHANGED }
    expect(at(expectStatus(await server.api.create(things.path('v1'), thing), 201).object, 'data')).toEqual(CHANGED)
  })

  test('change custom resources whose stored version is another by now', async () => {
    const things = await defineThings('moved', ['v1', 'v2'])
    await register('Mutating', 'custom', [webhook('stage-1', [rule(['moved'], ['CREATE', 'UPDATE'])])])
    const thing = { ...things.of('v1'), metadata: { name: 'one' }, data: UNCHANGED }
    expectStatus(await server.api.create(things.path('v1'), thing), 201)
    const versions = definitionOf('moved', ['v2', 'v1']).spec.versions
    expectStatus(await server.api.patch(`${DEFINITIONS}/${things.name}`, { spec: { versions } }), 200)
    const patched = await server.api.patch(`${things.path('v1')}/one`, { data: { dummy: 'test' } })
    expect(at(expectStatus(patched, 200).object, 'data')).toEqual({ ...CHANGED, dummy: 'test' })
    expect(at((await server.api.get(`${things.path('v2')}/one`)).object, 'data')).toEqual({ ...CHANGED, dummy: 'test' })
  })
})

describe('webhook configurations', () => {
  test('can neither be changed nor kept by webhooks', async () => {
    const rules = [rule(['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'], ['*'])]
    await register('Validating', 'guard', [webhook('deny-all', rules, everywhere)])
    await register('Mutating', 'changer', [webhook('label', rules, everywhere)])
    for (const which of ['Validating', 'Mutating'] as const) {
      const made = await register(which, 'dummy', [webhook('deny-all', [rule(['nothing'])])])
      expect(at(made, 'metadata.labels')).toEqual({ test: 'webhooks' })
      expectStatus(await server.api.delete(`${placeOf(which)}/dummy`), 200)
    }
  })

  test.each([
    ['Validating', 'deny-configmap'],
    ['Mutating', 'stage-1'],
  ] as const)('%s: are updated and patched, and count at once', async (which, answer) => {
    const path = `${placeOf(which)}/live`
    const made = await register(which, 'live', [webhook(answer, [rule(['configmaps'])])])
    const [hook] = listAt(made, 'webhooks') as [Json]
    const updated = { ...made, webhooks: [{ ...hook, rules: [rule(['configmaps'], ['UPDATE'])] }] }
    expectStatus(await server.api.update(path, updated), 200)
    const name = `not-${which.toLowerCase()}`
    const data = { ...UNCHANGED, ...BAD }
    expect(at(expectStatus(await server.api.create(CONFIG_MAPS, configMap(name, data)), 201).object, 'data')).toEqual(
      data,
    )
    const patch = [{ op: 'replace', path: '/webhooks/0/rules/0/operations', value: ['CREATE'] }]
    expectStatus(await server.api.patch(path, patch, 'json'), 200)
    const again = await server.api.create(CONFIG_MAPS, configMap(`again-${which.toLowerCase()}`, data))
    if (which === 'Validating') expectStatus(again, 400)
    else expect(at(expectStatus(again, 201).object, 'data')).toEqual({ ...data, 'mutation-stage-1': 'yes' })
  })

  test.each([
    ['Validating', 'deny-configmap'],
    ['Mutating', 'stage-1'],
  ] as const)('%s: ten are listed, work, and are deleted as a collection', async (which, answer) => {
    for (let i = 0; i < 10; i++) await register(which, `one-of-ten-${i}`, [webhook(answer, [rule(['configmaps'])])])
    const list = (await server.api.get(`${placeOf(which)}?labelSelector=test%3Dwebhooks`)).object
    expect(listAt(list, 'items')).toHaveLength(10)
    const data = { ...UNCHANGED, ...BAD }
    const name = `ten-${which.toLowerCase()}`
    const first = await server.api.create(CONFIG_MAPS, configMap(name, data))
    if (which === 'Validating') expectStatus(first, 400)
    else expect(at(expectStatus(first, 201).object, 'data')).toEqual({ ...data, 'mutation-stage-1': 'yes' })
    expectStatus(await server.api.delete(`${placeOf(which)}?labelSelector=test%3Dwebhooks`), 200)
    const after = await server.api.create(CONFIG_MAPS, configMap(`${name}-after`, data))
    expect(at(expectStatus(after, 201).object, 'data')).toEqual(data)
  })

  test.each(['Validating', 'Mutating'] as const)('%s: keep their match conditions', async (which) => {
    const conditions = [{ name: 'named', expression: "object.metadata.name != 'skip-me'" }]
    const made = await register(which, 'conditional', [
      webhook('deny-all', [rule(['pods'])], { matchConditions: conditions }),
    ])
    expect(at(made, 'webhooks.0.matchConditions')).toEqual(conditions)
    const others = [...conditions, { name: 'another', expression: "request.userInfo.username != 'nobody'" }]
    const [hook] = listAt(made, 'webhooks') as [Json]
    const path = `${placeOf(which)}/conditional`
    expectStatus(await server.api.update(path, { ...made, webhooks: [{ ...hook, matchConditions: others }] }), 200)
    expect(at((await server.api.get(path)).object, 'webhooks.0.matchConditions')).toEqual(others)
  })

  test.each(['Validating', 'Mutating'] as const)('%s: conditions that do not compile are refused', async (which) => {
    const matchConditions = [{ name: 'broken', expression: '... [] bad expression' }]
    const hooks = [webhook('deny-all', [rule(['pods'])], { matchConditions })]
    const answer = expectStatus(await server.api.create(placeOf(which), configuration(which, 'broken', hooks)), 422)
    expect(textAt(answer.object, 'message')).toContain('compilation failed')
  })

  test('change everything but what their conditions leave out', async () => {
    const matchConditions = [{ name: 'skip', expression: "object.metadata.name != 'skip-me'" }]
    await register('Mutating', 'skipping', [webhook('stage-1', [rule(['configmaps'])], { matchConditions })])
    expect(await createdData('skip-me')).toEqual(UNCHANGED)
    expect(await createdData('take-me')).toEqual(CHANGED)
  })
})

function definitionOf(plural: string, versions: readonly string[]) {
  const fields = ['bad', 'dummy', 'mutation-start', 'mutation-stage-1'].map((name) => [name, { type: 'string' }])
  const data = { type: 'object', properties: Object.fromEntries(fields) }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.webhooks.example.com` },
    spec: {
      group: 'webhooks.example.com',
      scope: 'Namespaced',
      names: { plural, singular: plural, kind: `Kind${plural}`, listKind: `Kind${plural}List` },
      // The first one is the stored one.
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object', properties: { data } } },
      })),
    },
  }
}

async function defineThings(plural: string, versions: readonly string[] = ['v1']) {
  const definition = definitionOf(plural, versions)
  expectStatus(await server.api.create(DEFINITIONS, definition), 201)
  const { group, names } = definition.spec
  return {
    name: definition.metadata.name,
    path: (version: string) => `/apis/${group}/${version}/namespaces/${NAMESPACE}/${plural}`,
    of: (version: string) => ({ apiVersion: `${group}/${version}`, kind: names.kind }),
  }
}
