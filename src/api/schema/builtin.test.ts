import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from './builtin.ts'
import type { Schema } from './schema.ts'

const core = (type: string) => builtinSchema(`io.k8s.api.core.v1.${type}`)

/** Follows field names; `[]` is an item of a list, `{}` a value of a map. */
function at(schema: Schema, path: string): Schema {
  let found: Schema | undefined = schema
  for (const step of path.split('.')) {
    if (step === '[]') found = found?.items
    else if (step === '{}') found = found?.additionalProperties
    else found = found?.properties?.[step]
  }
  if (found === undefined) throw new Error(`nothing at ${path}`)
  return found
}

describe('builtinSchema', () => {
  it('shares one object wherever a type is used', () => {
    expect(at(core('Pod'), 'spec')).toBe(core('PodSpec'))
    expect(at(core('PodTemplate'), 'template.spec')).toBe(core('PodSpec'))
  })

  it('links recursive types to themselves', () => {
    const props = builtinSchema('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps')
    expect(at(props, 'properties.{}')).toBe(props)
  })

  it.each<[type: string, path: string, expected: Partial<Schema>]>([
    [
      'PodSpec',
      'containers',
      { listType: 'map', listMapKeys: ['name'], patchStrategy: ['merge'], patchMergeKey: 'name' },
    ],
    ['PodSpec', 'volumes', { patchStrategy: ['merge', 'retainKeys'], patchMergeKey: 'name' }],
    ['PodSpec', 'nodeSelector', { mapType: 'atomic' }],
    ['PodSpec', 'tolerations', { listType: 'atomic' }],
    ['PersistentVolumeSpec', 'claimRef', { mapType: 'granular', definition: 'io.k8s.api.core.v1.ObjectReference' }],
    ['ServiceSpec', 'ports', { listMapKeys: ['port', 'protocol'], patchMergeKey: 'port' }],
    ['Container', 'resources.limits.{}', { format: 'quantity' }],
    ['HTTPGetAction', 'port', { intOrString: true }],
    ['Secret', 'data.{}', { type: 'string', format: 'byte' }],
    ['ContainerPort', 'hostPort', { type: 'integer', format: 'int32' }],
    // Younger than the document the annotations come from.
    ['ContainerStatus', 'allocatedResourcesStatus', { listMapKeys: ['name'], patchMergeKey: 'name' }],
    ['EnvVarSource', 'fileKeyRef', { mapType: 'atomic' }],
    ['PodSpec', 'hostnameOverride', { type: 'string' }],
  ])('%s %s', (type, path, expected) => {
    expect(at(core(type), path)).toMatchObject(expected)
  })

  it('finds no field in a prototype', () => {
    expect(core('PodSpec').properties?.constructor).toBeUndefined()
  })

  it('links every definition', () => {
    for (const definition of builtinDefinitions()) expect(builtinSchema(definition).definition).toBe(definition)
    expect(() => builtinSchema('io.k8s.api.core.v1.Nothing')).toThrow('io.k8s.api.core.v1.Nothing')
  })
})
