import { beforeAll, describe, expect, test } from 'vitest'
import { at, listAt, textAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'

const server = useCluster('custom-kinds')
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const KITES = '/apis/sky.example.com/v1/namespaces/default/kites'
const version = (name: string, extra: object) => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', description: 'How it flies.', properties: { tail: { type: 'string' } } } },
    },
  },
  ...extra,
})
const KITE_DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'kites.sky.example.com' },
  spec: {
    group: 'sky.example.com',
    scope: 'Namespaced',
    names: { plural: 'kites', kind: 'Kite' },
    versions: [
      version('v1', { additionalPrinterColumns: [{ name: 'Tail', type: 'string', jsonPath: '.spec.tail' }] }),
      version('v1beta1', { deprecated: true }),
    ],
  },
}

describe('a custom kind', () => {
  beforeAll(async () => {
    expectStatus(await server.api.create(DEFINITIONS, KITE_DEFINITION), 201)
    expectStatus(await server.api.create(KITES, { metadata: { name: 'one' }, spec: { tail: 'long' } }), 201)
  })

  test('is discovered at once', async () => {
    const list = (await server.api.get('/apis/sky.example.com/v1')).object
    expect(listAt(list, 'resources').map(({ name }) => name)).toEqual(['kites'])
    const group = (await server.api.get('/apis/sky.example.com')).object
    expect(at(group, 'preferredVersion.version')).toBe('v1')
  })

  test('is described at once, with the words of its author', async () => {
    const index = (await server.api.get('/openapi/v3')).object
    const url = textAt(index, 'paths.[apis/sky.example.com/v1].serverRelativeURL')
    const kite = at((await server.api.get(url)).object, 'components.schemas.[com.example.sky.v1.Kite].properties')
    expect(textAt(kite, 'spec.description')).toBe('How it flies.')
    expect(textAt(kite, 'apiVersion.description')).toMatch(/APIVersion defines/)
  })

  test('has no protobuf', async () => {
    const accept = 'application/vnd.kubernetes.protobuf'
    expectStatus(await server.api.get(`${KITES}/one`, { accept }), 406)
    expectStatus(await server.api.get(`${KITES}/one`, { accept: `${accept},application/json` }), 200)
  })

  test('is printed as its columns say', async () => {
    const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1'
    const table = (await server.api.get(KITES, { accept })).object
    expect(listAt(table, 'columnDefinitions').map(({ name }) => name)).toEqual(['Name', 'Tail'])
    expect(listAt(table, 'rows')[0]?.cells).toEqual(['one', 'long'])
  })

  test('warns of versions that are on their way out', async () => {
    const answer = await server.api.get(KITES.replace('/v1/', '/v1beta1/'))
    expect(answer.headers.warning).toBe('299 - "sky.example.com/v1beta1 Kite is deprecated"')
  })
})
