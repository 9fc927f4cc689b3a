import { describe, expect, it } from 'vitest'
import { defineKind, type Kind } from '../api/kind.ts'
import { builtinSchema } from '../api/schema/builtin.ts'
import { OpenApi } from './openapi.ts'
import { readMessage } from './read-message.support.ts'

const part = { type: 'part', verbs: ['get', 'update', 'patch'], prepareUpdate: () => {} } as const
const scale = {
  type: 'scale',
  replicas: () => 0,
  setReplicas() {},
  statusReplicas: () => 0,
  selector: () => '',
} as const
const builtin = (definition: string, more: Partial<Kind>): Kind => {
  const [version = '', kind = ''] = definition.split('.').slice(-2)
  const schema = builtinSchema(definition)
  return defineKind({ group: '', version, kind, plural: `${kind.toLowerCase()}s`, schema, ...more })
}
const widget = (properties: object = { size: { type: 'integer' } }): Kind =>
  defineKind({
    group: 'example.com',
    version: 'v1',
    kind: 'Widget',
    plural: 'widgets',
    schema: { type: 'object', properties: { spec: { type: 'object', properties: properties as never } } },
  })
const kinds: Kind[] = [
  builtin('io.k8s.api.core.v1.Pod', {
    subresources: {
      status: part,
      eviction: { type: 'action', verbs: ['create'], group: 'policy', version: 'v1', kind: 'Eviction' },
      exec: { type: 'action', verbs: ['get', 'create'], group: '', version: 'v1', kind: 'PodExecOptions' },
      proxy: { type: 'action', verbs: ['get', 'update'], group: '', version: 'v1', kind: 'PodProxyOptions' },
      log: { type: 'action', verbs: ['get'], group: '', version: 'v1', kind: 'Pod' },
    },
  }),
  builtin('io.k8s.api.core.v1.Namespace', { namespaced: false }),
  builtin('io.k8s.api.apps.v1.Deployment', { group: 'apps', subresources: { status: part, scale } }),
  builtin('io.k8s.api.authorization.v1.SubjectAccessReview', {
    group: 'authorization.k8s.io',
    verbs: ['create'],
    namespaced: false,
  }),
  widget(),
]
const open = (served: readonly Kind[] = kinds) => new OpenApi({ kinds: () => served, version: 'v1.36.0' })
const read = (answer: { body: Buffer }) => JSON.parse(String(answer.body))
const urls = async (api: OpenApi): Promise<Record<string, string>> => {
  const entries = Object.entries(read(await api.v3Index()).paths as Record<string, { serverRelativeURL: string }>)
  return Object.fromEntries(entries.map(([path, { serverRelativeURL }]) => [path, serverRelativeURL]))
}
const hashOf = (url: string | undefined) => url?.split('?hash=')[1]
const document = async (path: string) => read(await open().v3(path, undefined))
const core = await document('api/v1')

describe('/openapi/v3', () => {
  it('names a hashed address for each group version', async () => {
    expect(Object.keys(await urls(open()))).toEqual([
      'api/v1',
      'apis/apps/v1',
      'apis/authorization.k8s.io/v1',
      'apis/example.com/v1',
    ])
    expect((await urls(open()))['apis/apps/v1']).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{64}$/)
  })

  it('is served for ever under its hash, and redirects from an old one', async () => {
    const api = open()
    const hash = hashOf((await urls(api))['apis/apps/v1'])
    const pinned = await api.v3('apis/apps/v1', hash)
    expect(pinned).toMatchObject({ status: 200, headers: { ETag: `"${hash}"`, Vary: 'Accept' } })
    expect(pinned.headers['Cache-Control']).toContain('immutable')
    expect((await api.v3('apis/apps/v1', undefined)).headers['Cache-Control']).toBeUndefined()
    expect(await api.v3('apis/apps/v1', 'OLD')).toMatchObject({
      status: 301,
      headers: { Location: `/openapi/v3/apis/apps/v1?hash=${hash}` },
    })
    expect(await api.v3('apis/apps/v1', hash, { ifNoneMatch: `"${hash}"` })).toMatchObject({ status: 304 })
    expect(await api.v3('apis/nothing/v1', undefined)).toMatchObject({ status: 404 })
    expect(await api.v3('api/v1', undefined, { accept: 'text/html' })).toMatchObject({ status: 406 })
  })

  it('renders anew only what changed', async () => {
    const served = [...kinds]
    const api = open(served)
    const [before, apps] = [await urls(api), await api.v3('apis/apps/v1', undefined)]
    served[served.length - 1] = widget({ colour: { type: 'string' } })
    api.invalidate()
    const after = await urls(api)
    expect(after['apis/example.com/v1']).not.toBe(before['apis/example.com/v1'])
    expect(after['api/v1']).toBe(before['api/v1'])
    expect((await api.v3('apis/apps/v1', undefined)).body).toBe(apps.body)
    const { components } = read(await api.v3('apis/example.com/v1', undefined))
    expect(components.schemas['com.example.v1.Widget'].properties.spec.properties).toEqual({
      colour: { type: 'string' },
    })
  })
})

describe('a v3 document', () => {
  const item = core.paths['/api/v1/namespaces/{namespace}/pods/{name}']

  it('has what kubectl probes in each PATCH', () => {
    const names = item.patch.parameters.map((one: { name?: string; $ref?: string }) => one.name ?? one.$ref)
    expect(names).toEqual([
      'dryRun',
      'fieldValidation',
      '#/components/parameters/fieldManager',
      '#/components/parameters/force',
    ])
    expect(item.patch['x-kubernetes-group-version-kind']).toEqual({ group: '', kind: 'Pod', version: 'v1' })
    expect(Object.keys(item.patch.requestBody.content)).toContain('application/apply-patch+yaml')
    expect(Object.keys(item.patch.requestBody.content)).toContain('application/strategic-merge-patch+json')
  })

  it('has every reference it makes', () => {
    const texts = JSON.stringify(core).matchAll(/"#\/components\/(schemas|parameters)\/([^"]+)"/g)
    for (const [, section, name] of texts) expect(core.components[section!][name!], name).toBeDefined()
  })

  it.each<[path: string, method: string, id: string, action: string]>([
    ['/api/v1/namespaces/{namespace}/pods', 'get', 'listCoreV1NamespacedPod', 'list'],
    ['/api/v1/namespaces/{namespace}/pods', 'post', 'createCoreV1NamespacedPod', 'post'],
    ['/api/v1/namespaces/{namespace}/pods', 'delete', 'deleteCoreV1CollectionNamespacedPod', 'deletecollection'],
    ['/api/v1/pods', 'get', 'listCoreV1PodForAllNamespaces', 'list'],
    ['/api/v1/namespaces/{namespace}/pods/{name}/status', 'put', 'replaceCoreV1NamespacedPodStatus', 'put'],
    ['/api/v1/namespaces/{namespace}/pods/{name}/eviction', 'post', 'createCoreV1NamespacedPodEviction', 'post'],
    ['/api/v1/namespaces/{namespace}/pods/{name}/exec', 'get', 'connectCoreV1GetNamespacedPodExec', 'connect'],
    ['/api/v1/namespaces/{name}', 'get', 'readCoreV1Namespace', 'get'],
    [
      '/api/v1/namespaces/{namespace}/pods/{name}/proxy/{path}',
      'put',
      'connectCoreV1PutNamespacedPodProxyWithPath',
      'connect',
    ],
  ])('%s %s', (path, method, id, action) => {
    expect(core.paths[path][method]).toMatchObject({
      operationId: id,
      'x-kubernetes-action': action,
      tags: ['core_v1'],
    })
  })

  it('describes types with all that merging needs', () => {
    const { properties } = core.components.schemas['io.k8s.api.core.v1.PodSpec']
    expect(properties.containers).toMatchObject({
      description: expect.stringContaining('List of containers belonging to the pod.'),
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge',
      items: { $ref: '#/components/schemas/io.k8s.api.core.v1.Container' },
    })
    expect(core.components.schemas['io.k8s.api.core.v1.Pod'].properties.spec).toMatchObject({
      allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec' }],
    })
    expect(core.components.schemas['io.k8s.api.policy.v1.Eviction']).toBeDefined()
  })

  it('leaves out parameters where there are none, as Go does when it writes the document again', () => {
    expect(JSON.stringify(core)).not.toContain('"parameters":[]')
  })

  it('has the query parameters of streaming subresources', () => {
    const { parameters } = core.paths['/api/v1/namespaces/{namespace}/pods/{name}/log'].get
    expect(parameters.map((one: { name: string }) => one.name)).toEqual(expect.arrayContaining(['follow', 'tailLines']))
  })

  it('has the scale subresource as its own kind', async () => {
    const { paths } = await document('apis/apps/v1')
    const { get } = paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale']
    expect(get['x-kubernetes-group-version-kind']).toEqual({ group: 'autoscaling', kind: 'Scale', version: 'v1' })
    expect(get.responses['200'].content['application/json'].schema.$ref).toContain('io.k8s.api.autoscaling.v1.Scale')
  })

  it('offers no strategic merge for custom kinds, and only the verbs there are', async () => {
    const { paths } = await document('apis/example.com/v1')
    const { content } = paths['/apis/example.com/v1/namespaces/{namespace}/widgets/{name}'].patch.requestBody
    expect(Object.keys(content)).not.toContain('application/strategic-merge-patch+json')
    const reviews = await document('apis/authorization.k8s.io/v1')
    expect(Object.keys(reviews.paths)).toEqual([
      '/apis/authorization.k8s.io/v1/',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    ])
  })
})

describe('/openapi/v2', () => {
  const ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

  it('is JSON, with every reference it makes', async () => {
    const answer = await open().v2({ accept: 'application/json' })
    const v2 = read(answer)
    expect(v2).toMatchObject({ swagger: '2.0', info: { version: 'v1.36.0' } })
    expect(v2.definitions['com.example.v1.Widget'].properties.spec.properties.size).toEqual({ type: 'integer' })
    for (const [, section, name] of JSON.stringify(v2).matchAll(/"#\/(definitions|parameters)\/([^"]+)"/g)) {
      expect(v2[section!][name!], name).toBeDefined()
    }
  })

  it('says of custom kinds what its readers understand', async () => {
    const properties = {
      maybe: { type: 'object', nullable: true, properties: { a: { type: 'string' } } },
      either: { type: 'string', anyOf: [{ minLength: 1 }, { pattern: 'x' }] },
      bag: { type: 'object', preserveUnknownFields: true, properties: { a: { type: 'string' } } },
      list: { type: 'array', preserveUnknownFields: true, items: { type: 'string' } },
    }
    const spec = { type: 'object', required: ['maybe', 'bag'], properties }
    const custom = (kind: string, schema: object) =>
      defineKind({
        group: 'example.com',
        version: 'v1',
        kind,
        plural: `${kind.toLowerCase()}s`,
        schema: schema as never,
      })
    const served = [
      ...kinds,
      custom('Gadget', { type: 'object', properties: { spec } }),
      custom('Anything', { type: 'object', preserveUnknownFields: true, properties: { spec } }),
    ]
    const { definitions } = read(await open(served).v2({ accept: 'application/json' }))
    const keeps = { 'x-kubernetes-preserve-unknown-fields': true }
    expect(definitions['com.example.v1.Gadget'].properties).toMatchObject({
      metadata: { description: expect.stringContaining("Standard object's metadata") },
    })
    expect(definitions['com.example.v1.Gadget'].properties.spec).toEqual({
      type: 'object',
      required: ['bag'],
      properties: { maybe: {}, either: { type: 'string' }, bag: keeps, list: keeps },
    })
    expect(definitions['com.example.v1.Anything']).toEqual({
      type: 'object',
      'x-kubernetes-group-version-kind': [{ group: 'example.com', kind: 'Anything', version: 'v1' }],
    })
  })

  it('is protobuf for those who ask, with the same content', async () => {
    const answer = await open().v2({ accept: ASKED })
    expect(answer.headers['Content-Type']).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf')
    const root = readMessage(answer.body)
    expect(root.text(1)).toBe('2.0')
    const names = root
      .message(9)
      .messages(1)
      .map((definition) => definition.text(1))
    expect(names.sort()).toEqual(Object.keys(read(await open().v2()).definitions).sort())
    const paths = root.message(8).messages(2)
    const pod = paths.find((path) => path.text(1) === '/api/v1/namespaces/{namespace}/pods/{name}')
    const patch = pod!.message(2).message(8)
    const query = patch.messages(8).map((one) => one.message(1).message(2).message(3).text(4))
    expect(query).toEqual(expect.arrayContaining(['dryRun', 'fieldValidation']))
    const extensions = Object.fromEntries(patch.messages(13).map((one) => [one.text(1), one.message(2).text(2)]))
    expect(JSON.parse(extensions['x-kubernetes-group-version-kind']!)).toEqual({
      group: '',
      kind: 'Pod',
      version: 'v1',
    })
  })

  it('answers 304 and 406', async () => {
    const { headers } = await open().v2()
    expect(await open().v2({ ifNoneMatch: headers.ETag })).toMatchObject({ status: 304 })
    expect(await open().v2({ accept: 'text/html' })).toMatchObject({ status: 406 })
  })
})

describe('the document of many kinds', () => {
  const many = Array.from({ length: 200 }, (_, i) => ({
    ...widget(),
    plural: `widgets${i}`,
    kind: `Widget${i}`,
    listKind: `Widget${i}List`,
  }))

  it.each(['application/json', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'])(
    'is made while others have their turn, and once for all who ask meanwhile: %s',
    async (accept) => {
      const api = open([...kinds, ...many])
      await api.v3('apis/example.com/v1', undefined)
      let turns = 0
      let isDone = false
      const count = () => {
        turns++
        if (!isDone) setImmediate(count)
      }
      setImmediate(count)
      const [one, other] = await Promise.all([api.v2({ accept }), api.v2({ accept })])
      isDone = true
      expect(turns).toBeGreaterThan(20)
      expect(other.body).toBe(one.body)
      expect((await api.v2({ accept })).body).toBe(one.body)
    },
  )

  it('has all of them, in order', async () => {
    const { paths, definitions } = read(await open([...kinds, ...many]).v2())
    expect(Object.keys(paths)).toEqual(Object.keys(paths).sort())
    expect(Object.keys(definitions)).toEqual(Object.keys(definitions).sort())
    for (const { plural, kind } of many) {
      expect(paths[`/apis/example.com/v1/namespaces/{namespace}/${plural}/{name}`].get).toBeDefined()
      expect(definitions[`com.example.v1.${kind}`]).toBeDefined()
    }
  })
})
