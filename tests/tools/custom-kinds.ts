import type { ApiAccess } from './api.ts'
import type { Json } from './json.ts'
import { expectStatus } from './use-cluster.ts'

/** Kinds that tests define themselves. */

export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const string = { type: 'string' }
export const object = (properties: object = {}, more: object = {}) => ({ type: 'object', properties, ...more })
export const PRESERVE = { 'x-kubernetes-preserve-unknown-fields': true }
const ANYTHING = { type: 'object', ...PRESERVE }

export interface Version {
  readonly name: string
  readonly schema?: object
  readonly served?: boolean
  readonly more?: object
}
export interface Defined {
  readonly name: string
  /** What these are called in the published documents. */
  definition(version: string): string
  path(version: string): string
  of(version: string, name: string, body?: object): Json
}

/** The first version is the stored one; without a schema anything goes. */
export function definitionOf(
  plural: string,
  versions: readonly Version[],
  more: { group?: string; spec?: object } = {},
) {
  const { group = 'conformance.example.com', spec = {} } = more
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { test: plural } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: plural, kind: kindOf(plural), listKind: `${kindOf(plural)}List` },
      versions: versions.map(({ name, schema = ANYTHING, served = true, more }, index) => ({
        name,
        served,
        storage: index === 0,
        schema: { openAPIV3Schema: schema },
        ...more,
      })),
      ...spec,
    },
  }
}
const kindOf = (plural: string) => plural[0]!.toUpperCase() + plural.slice(1)

/** Makes the definition known; its objects are in that namespace. */
export async function defineKind(
  api: ApiAccess,
  namespace: string,
  definition: ReturnType<typeof definitionOf>,
): Promise<Defined> {
  expectStatus(await api.create(DEFINITIONS, definition), 201)
  const { group, names } = definition.spec
  const reversed = group.split('.').reverse().join('.')
  return {
    name: definition.metadata.name,
    definition: (version) => `${reversed}.${version}.${names.kind}`,
    path: (version) => `/apis/${group}/${version}/namespaces/${namespace}/${names.plural}`,
    of: (version, name, body = {}) => ({
      apiVersion: `${group}/${version}`,
      kind: names.kind,
      metadata: { name },
      ...body,
    }),
  }
}
