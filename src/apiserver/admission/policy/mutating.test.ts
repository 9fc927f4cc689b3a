import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MutatingAdmissionPolicySpec, Mutation } from '../../../api/generated/admissionregistration-v1.ts'
import type { Pod } from '../../../api/generated/core-v1.ts'
import { configMapKind } from '../../../api/kinds/core/config-map.ts'
import { podKind } from '../../../api/kinds/core/pod/kind.ts'
import { type AdmissionServer, startAdmissionServer } from '../admission-server.fixture.ts'
import { addMutatingPolicy } from './policies.fixture.ts'

let plane: AdmissionServer
beforeEach(async () => {
  plane = await startAdmissionServer()
})
afterEach(() => plane[Symbol.asyncDispose]())

const apply = (expression: string): Mutation => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
})
const patch = (expression: string): Mutation => ({ patchType: 'JSONPatch', jsonPatch: { expression } })
const maps = () => plane.client.resource(configMapKind).namespace('default')
const create = () => maps().create({ metadata: { name: 'c' }, data: { a: '1' } })
const created = () =>
  create().then(
    ({ data, metadata: { labels } }) => ({ data, labels }),
    (error: Error) => error.message,
  )

describe('mutations', () => {
  it.each<[why: string, mutations: Mutation[], expected: object]>([
    ['apply', [apply('Object{data: {"b": object.data.a + "!"}}')], { data: { a: '1', b: '1!' } }],
    [
      'apply typed',
      [apply('Object{metadata: Object.metadata{labels: Object.metadata.labels{x__dash__y: "z"}}}')],
      { data: { a: '1' }, labels: { 'x-y': 'z' } },
    ],
    ['apply nothing', [apply('Object{?data: optional.none()}')], { data: { a: '1' } }],
    ['patch', [patch('[JSONPatch{op: "add", path: "/data/b", value: "2"}]')], { data: { a: '1', b: '2' } }],
    [
      'patch with a key',
      [
        patch(
          '[JSONPatch{op: "add", path: "/metadata/labels", value: {}}, JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("x/y"), value: "1"}]',
        ),
      ],
      { data: { a: '1' }, labels: { 'x/y': '1' } },
    ],
    [
      'patch if',
      [patch('has(object.data.zz) ? [JSONPatch{op: "remove", path: "/data/zz"}] : []')],
      { data: { a: '1' } },
    ],
    [
      'see those before',
      [apply('Object{data: {"b": "2"}}'), apply('Object{data: {"c": variables.b}}')],
      { data: { a: '1', b: '2', c: '2' } },
    ],
  ])('%s', async (_, mutations, expected) => {
    const variables = [{ name: 'b', expression: 'object.data.b' }]
    await addMutatingPolicy(plane.client, 'm', { variables, mutations })
    expect(await created()).toEqual(expected)
  })

  it.each<[why: string, mutation: Mutation, expected: RegExp]>([
    [
      'fails',
      apply('Object{data: {"b": object.data.zz}}'),
      /configmaps "c" is forbidden: policy 'm' with binding 'm-binding' denied request: expression .* resulted in error: no such key: zz/,
    ],
    [
      'names unknown fields',
      apply('Object{nonsense: 1}'),
      /error applying patch: invalid ApplyConfiguration: .nonsense: field not declared in schema/,
    ],
    [
      'renames',
      patch('[JSONPatch{op: "replace", path: "/metadata/name", value: "z"}]'),
      /error applying patch: the name of the object/,
    ],
  ])('one that %s', async (_, mutation, expected) => {
    await addMutatingPolicy(plane.client, 'm', { mutations: [mutation] })
    expect(await created()).toMatch(expected)
    await addMutatingPolicy(plane.client, 'n', { mutations: [mutation], failurePolicy: 'Ignore' })
  })

  it('a failure that is ignored changes nothing', async () => {
    await addMutatingPolicy(plane.client, 'm', {
      failurePolicy: 'Ignore',
      mutations: [apply('Object{data: {"b": object.data.zz}}')],
    })
    expect(await created()).toEqual({ data: { a: '1' } })
  })

  it('a list merges by its keys; what is added gets its defaults', async () => {
    const expression = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "side", image: "side"}]}}'
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
    await addMutatingPolicy(plane.client, 'm', {
      mutations: [apply(expression)],
      matchConstraints: { resourceRules: [rule] },
    })
    const pod: Pod = await plane.client
      .resource(podKind)
      .namespace('default')
      .create({ metadata: { name: 'p' }, spec: { containers: [{ name: 'main', image: 'i' }] } })
    expect(pod.spec?.containers.map(({ name, imagePullPolicy }) => [name, imagePullPolicy])).toEqual([
      ['main', 'Always'],
      ['side', 'Always'],
    ])
  })

  it('what is one piece cannot be applied', async () => {
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
    const expression = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", args: ["x"]}]}}'
    await addMutatingPolicy(plane.client, 'm', {
      mutations: [apply(expression)],
      matchConstraints: { resourceRules: [rule] },
    })
    const pods = plane.client.resource(podKind).namespace('default')
    await expect(
      pods.create({ metadata: { name: 'p' }, spec: { containers: [{ name: 'main', image: 'i' }] } }),
    ).rejects.toThrow(/may not mutate atomic arrays, maps or structs: .spec.containers\[0\].args/)
  })
})

describe('several policies', () => {
  const count = 'Object{data: {"n": has(object.data.n) ? string(int(object.data.n) + 1) : "1"}}'
  it.each<[reinvocationPolicy: string, n: string]>([
    ['Never', '1'],
    ['IfNeeded', '2'],
  ])('one that is asked again: %s', async (reinvocationPolicy, n) => {
    await addMutatingPolicy(plane.client, 'a', { reinvocationPolicy, mutations: [apply(count)] })
    await addMutatingPolicy(plane.client, 'b', { mutations: [apply('Object{data: {"b": "x"}}')] })
    expect(await created()).toEqual({ data: { a: '1', b: 'x', n } })
  })
})

describe('a policy is refused', () => {
  it.each<[why: string, spec: Partial<MutatingAdmissionPolicySpec>, expected: RegExp]>([
    [
      'whose expression is none',
      { mutations: [apply('Object{')] },
      /spec.mutations\[0\].applyConfiguration.expression: Invalid value: .*compilation failed: ERROR/,
    ],
    ['that makes something else', { mutations: [apply('Object.spec{a: 1}')] }, /must evaluate to Object/],
    ['whose patch is no list', { mutations: [patch('JSONPatch{op: "add"}')] }, /must evaluate to list/],
    [
      'whose operation has unknown fields',
      { mutations: [patch('[JSONPatch{oper: "add"}]')] },
      /undefined field 'oper'/,
    ],
  ])('%s', async (_, spec, expected) => {
    await expect(addMutatingPolicy(plane.client, 'm', spec)).rejects.toThrow(expected)
  })
})
