import { describe, expect, it } from 'vitest'
import { builtinKinds } from '../kinds/all.ts'
import { apiVersionOf } from '../meta/object.ts'
import { builtinDefinitions, builtinSchema } from '../schema/builtin.ts'
import { type Message, messageOf, messageOfKind } from './messages.ts'

const namesOf = (message: Message): string[] => [
  ...message.byName.keys(),
  ...message.inlined.flatMap((field) => namesOf(field.message!)),
]

describe('every built-in kind', () => {
  it.each(builtinKinds.map((kind) => [kind] as const))('$group/$version $kind has a message', (kind) => {
    const message = messageOf(kind.schema.definition!)
    expect(message).toBeDefined()
    expect(messageOfKind(apiVersionOf(kind), kind.kind)).toBe(message)
  })
})

describe('a message has the fields of its schema', () => {
  const both = builtinDefinitions().filter(
    (definition) => messageOf(definition) && builtinSchema(definition).properties,
  )

  it('for nearly all types', () => expect(both.length).toBeGreaterThan(550))

  it.each(both)('%s', (definition) => {
    const properties = Object.keys(builtinSchema(definition).properties!)
    const names = namesOf(messageOf(definition)!)
    // The envelope says what kind it is.
    const typeMeta = ['apiVersion', 'kind'].filter((name) => properties.includes(name) && !names.includes(name))
    expect([...names, ...typeMeta].sort()).toEqual(properties.sort())
  })
})

describe('messageOfKind', () => {
  it.each([
    ['v1', 'Pod'],
    ['rbac.authorization.k8s.io/v1', 'Role'],
    ['flowcontrol.apiserver.k8s.io/v1', 'FlowSchema'],
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
    ['apiregistration.k8s.io/v1', 'APIService'],
    ['autoscaling/v1', 'Scale'],
    ['policy/v1', 'Eviction'],
    ['authentication.k8s.io/v1', 'TokenRequest'],
    ['apps/v1', 'DeleteOptions'],
    ['meta.k8s.io/v1', 'PartialObjectMetadataList'],
    ['v1', 'Status'],
  ])('knows %s %s', (apiVersion, kind) => expect(messageOfKind(apiVersion, kind)).toBeDefined())

  it.each([
    ['v1', 'Unheard'],
    ['example.com/v1', 'Foo'],
    ['', ''],
    ['v1', '__proto__'],
    ['__proto__/v1', 'Pod'],
  ])('knows no %s %s', (apiVersion, kind) => expect(messageOfKind(apiVersion, kind)).toBeUndefined())
})
