import { describe, expect, test } from 'vitest'
import { at, listAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'

const NAMESPACE = 'forms'
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const server = useCluster(NAMESPACE)
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

describe('Table', () => {
  test('of a list: columns, rows with metadata, the version of the list', async () => {
    await server.api.create(CONFIG_MAPS, { metadata: { name: 'a' }, data: { x: '1', y: '2' } })
    const { object } = expectStatus(await server.api.get(CONFIG_MAPS, { accept: TABLE }), 200)
    expect(listAt(object, 'columnDefinitions').map((column) => column.name)).toEqual(['Name', 'Data', 'Age'])
    expect(at(object, 'columnDefinitions.0')).toMatchObject({ type: 'string', format: 'name', priority: 0 })
    expect(at(object, 'rows.0.cells')).toEqual(['a', 2, expect.any(String)])
    expect(at(object, 'rows.0.object')).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'a' },
    })
    expect(at(object, 'metadata.resourceVersion')).toMatch(/^\d+$/)
  })

  test('of one object', async () => {
    const { object } = expectStatus(await server.api.get(`${CONFIG_MAPS}/a`, { accept: TABLE }), 200)
    expect(listAt(object, 'rows')).toHaveLength(1)
  })

  test('v1beta1 is a version too', async () => {
    const answer = await server.api.get(CONFIG_MAPS, { accept: TABLE.replace('v=v1', 'v=v1beta1') })
    expect(answer.object).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1beta1' })
  })

  test.each([
    ['Object', 'ConfigMap'],
    ['Metadata', 'PartialObjectMetadata'],
  ])('includeObject=%s', async (include, kind) => {
    const { object } = await server.api.get(`${CONFIG_MAPS}?includeObject=${include}`, { accept: TABLE })
    expect(at(object, 'rows.0.object.kind')).toBe(kind)
  })

  test('includeObject=None', async () => {
    const { object } = await server.api.get(`${CONFIG_MAPS}?includeObject=None`, { accept: TABLE })
    expect(at(object, 'rows.0.object')).toBeFalsy()
  })

  test('what has no metadata answers 406', async () => {
    const review = { spec: { resourceAttributes: { namespace: NAMESPACE, verb: 'get', resource: 'pods' } } }
    const answer = await server.api.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      body: JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', ...review }),
      headers: { 'content-type': 'application/json', accept: TABLE },
    })
    expectStatus(answer, 406)
    expect(answer.object).toMatchObject({ kind: 'Status', reason: 'NotAcceptable' })
  })
})

describe('PartialObjectMetadata', () => {
  test('of an object and of a list', async () => {
    const one = await server.api.get(`${CONFIG_MAPS}/a`, {
      accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    })
    expect(one.object).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'a' },
    })
    expect(at(one.object, 'data')).toBeUndefined()
    const list = await server.api.get(CONFIG_MAPS, {
      accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    })
    expect(list.object).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' })
    expect(at(list.object, 'items.0.data')).toBeUndefined()
  })
})

describe('content types', () => {
  test('YAML is an answer too', async () => {
    const answer = await server.api.get(`${CONFIG_MAPS}/a`, { accept: 'application/yaml' })
    expectStatus(answer, 200)
    expect(answer.headers['content-type']).toContain('application/yaml')
    expect(answer.text).toMatch(/^kind: ConfigMap$/m)
  })

  test.each([
    ['application/vnd.kubernetes.protobuf', 200],
    ['application/vnd.kubernetes.protobuf,application/json', 200],
    ['application/vnd.kubernetes.protobuf, */*', 200],
    ['text/html', 406],
    ['*/*', 200],
    ['', 200],
  ])('Accept: %s', async (accept, code) => {
    const answer = await server.api.get(`${CONFIG_MAPS}/a`, { accept })
    expectStatus(answer, code)
    if (code === 406) expect(answer.object).toMatchObject({ kind: 'Status', reason: 'NotAcceptable', code: 406 })
  })

  test('a protobuf body that is none is refused politely', async () => {
    const answer = await server.api.request('POST', CONFIG_MAPS, {
      body: Buffer.from('k8s\0\n\xff\xff'),
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
    })
    expectStatus(answer, 400)
    expect(answer.object).toMatchObject({ kind: 'Status', reason: 'BadRequest', code: 400 })
  })
})
