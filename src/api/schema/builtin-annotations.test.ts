import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from './builtin.ts'
import type { Schema } from './schema.ts'

interface Node {
  type?: string
  format?: string
  $ref?: string
  required?: string[]
  properties?: Record<string, Node>
  items?: Node
  additionalProperties?: Node
  'x-kubernetes-list-type'?: string
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: string
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-patch-merge-key'?: string
}

const source = new URL(
  '../../../node_modules/@xdavidwu/kubernetes-client-typescript-fetch/swagger.json.unprocessed',
  import.meta.url,
)
const { definitions } = JSON.parse(readFileSync(source, 'utf8')) as { definitions: Record<string, Node> }
const served = new Set(builtinDefinitions())

const ofSchema = (schema: Schema) => ({
  listType: schema.listType,
  listMapKeys: schema.listMapKeys,
  mapType: schema.mapType,
  patchStrategy: schema.patchStrategy?.join(','),
  patchMergeKey: schema.patchMergeKey,
})
const ofNode = (node: Node, target: Node | undefined) => ({
  listType: node['x-kubernetes-list-type'],
  listMapKeys: node['x-kubernetes-list-map-keys'],
  mapType: node['x-kubernetes-map-type'] ?? target?.['x-kubernetes-map-type'],
  patchStrategy: node['x-kubernetes-patch-strategy'],
  patchMergeKey: node['x-kubernetes-patch-merge-key'],
})

/** The official document of an older release: what it says of a field that still exists must hold. */
describe('no annotation of the official document is lost', () => {
  const shared = Object.keys(definitions).filter((name) => served.has(name) && definitions[name]?.properties)

  it('knows almost every type of the served groups', () => {
    expect(shared.length).toBeGreaterThan(430)
  })

  it.each(shared)('%s', (name) => {
    const schema = builtinSchema(name)
    expect(schema.mapType).toBe(definitions[name]!['x-kubernetes-map-type'])
    for (const [field, node] of Object.entries(definitions[name]!.properties ?? {})) {
      const found = schema.properties?.[field]
      if (found === undefined) continue
      const target = node.$ref ? definitions[node.$ref.replace('#/definitions/', '')] : undefined
      // FieldsV1 holds whatever it holds: it merges as one value.
      if (found.definition?.endsWith('.FieldsV1')) continue
      expect({ field, ...ofSchema(found) }).toEqual({ field, ...ofNode(node, target) })
      if (node.type === 'integer') expect(found.format).toBe(node.format)
    }
  })
})

it('removed only fields that v1.36 removed', () => {
  const removed = Object.keys(definitions)
    .filter((name) => served.has(name))
    .flatMap((name) =>
      Object.keys(definitions[name]!.properties ?? {})
        .filter((field) => !builtinSchema(name).properties?.[field])
        .map((field) => `${name}.${field}`),
    )
  expect(removed).toEqual(['io.k8s.api.core.v1.PodResourceClaim.source'])
})
