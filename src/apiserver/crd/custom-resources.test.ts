import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findCondition } from '../../api/meta/conditions.ts'
import type { WatchEvent } from '../../client/transport.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import {
  type AnyObject,
  Bench,
  DEFINITION_TYPE,
  definitionOf,
  failure,
  PRESERVE,
  typeOf,
} from './custom-resources.fixture.ts'

let bench: Bench
beforeAll(async () => {
  bench = await Bench.start()
})
afterAll(async () => {
  await bench[Symbol.asyncDispose]()
})

const widget = (name: string, spec: object = {}): AnyObject => ({ metadata: { name }, spec })
const conditionsOf = (definition: AnyObject) =>
  (definition.status as { conditions?: { type: string; status: string; reason: string; message: string }[] }).conditions
const settled = (name: string, type: string, status: string) =>
  vi.waitFor(async () => {
    const definition = await bench.readDefinition(name)
    expect(findCondition(conditionsOf(definition), type)?.status).toBe(status)
    return definition
  })

describe('a definition', () => {
  const definition = definitionOf({
    plural: 'gadgets',
    kind: 'Gadget',
    names: { shortNames: ['gd'], categories: ['all'] },
  })
  const gadgets = typeOf(definition)

  it('is served as soon as it is stored, and says so', async () => {
    await bench.define(definition)
    const made = await bench.create(gadgets, widget('first'))
    expect(made).toMatchObject({ apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { generation: 1 } })
    const established = await settled('gadgets.example.com', 'Established', 'True')
    expect(established.status).toMatchObject({
      acceptedNames: {
        plural: 'gadgets',
        singular: 'gadget',
        kind: 'Gadget',
        listKind: 'GadgetList',
        shortNames: ['gd'],
      },
      storedVersions: ['v1'],
      conditions: [
        { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
        { type: 'Established', status: 'True', reason: 'InitialNamesAccepted' },
      ],
    })
  })

  it('takes its objects along', async () => {
    await bench.call({ verb: 'delete', resource: DEFINITION_TYPE, name: 'gadgets.example.com' })
    await vi.waitFor(async () => expect((await failure(bench.readDefinition('gadgets.example.com'))).code).toBe(404))
    expect((await failure(bench.get(gadgets, 'first'))).code).toBe(404)
    await bench.define(definition)
    expect((await bench.call({ verb: 'list', resource: gadgets })).items).toEqual([])
  })

  it('waits for objects that something holds, and takes no new ones', async () => {
    await bench.create(gadgets, { metadata: { name: 'held', finalizers: ['example.com/hold'] } })
    await bench.call({ verb: 'delete', resource: DEFINITION_TYPE, name: 'gadgets.example.com' })
    await settled('gadgets.example.com', 'Terminating', 'True')
    expect((await failure(bench.create(gadgets, widget('late')))).code).toBe(405)
    const held = await vi.waitFor(async () => {
      const object = await bench.get(gadgets, 'held')
      expect(object.metadata.deletionTimestamp).toBeDefined()
      return object
    })
    await bench.update(gadgets, { ...held, metadata: { ...held.metadata, finalizers: [] } })
    await vi.waitFor(async () => expect((await failure(bench.readDefinition('gadgets.example.com'))).code).toBe(404), {
      timeout: 5000,
    })
  })
})

describe('names', () => {
  it('that another definition has are refused until it gives them up', async () => {
    await bench.define(definitionOf({ plural: 'apples', kind: 'Apple', names: { shortNames: ['fruit'] } }))
    await settled('apples.example.com', 'Established', 'True')
    const pears = definitionOf({ plural: 'pears', kind: 'Pear', names: { shortNames: ['fruit'] } })
    await bench.define(pears)
    const refused = await settled('pears.example.com', 'NamesAccepted', 'False')
    expect(findCondition(conditionsOf(refused), 'NamesAccepted')).toMatchObject({
      reason: 'ShortNamesConflict',
      message: '"fruit" is already in use',
    })
    expect(findCondition(conditionsOf(refused), 'Established')).toMatchObject({
      status: 'False',
      reason: 'NotAccepted',
    })
    expect((await failure(bench.get(typeOf(pears), 'x'))).code).toBe(404)
    await bench.call({ verb: 'delete', resource: DEFINITION_TYPE, name: 'apples.example.com' })
    await settled('pears.example.com', 'Established', 'True')
  })
})

describe('objects', () => {
  const definition = definitionOf({
    versions: [
      {
        spec: {
          required: ['size'],
          properties: {
            size: { type: 'integer', minimum: 1, maximum: 9 },
            color: { type: 'string', enum: ['red', 'blue'], default: 'red' },
            code: { type: 'string', pattern: '^[a-z]+$' },
            port: { 'x-kubernetes-int-or-string': true },
            free: { type: 'object', ...PRESERVE },
            template: { type: 'object', 'x-kubernetes-embedded-resource': true, ...PRESERVE },
            tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
            replicas: { type: 'integer' },
          },
        },
        extra: {
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.replicas',
              statusReplicasPath: '.status.replicas',
              labelSelectorPath: '.status.selector',
            },
          },
          selectableFields: [{ jsonPath: '.spec.color' }],
        },
      },
    ],
  })
  const widgets = typeOf(definition)
  beforeAll(async () => {
    await bench.define(definition)
  })

  it('are pruned and defaulted', async () => {
    const made = await bench.create(widgets, widget('pruned', { size: 1, other: 1, free: { any: 1 }, color: null }))
    expect(made.spec).toEqual({ size: 1, color: 'red', free: { any: 1 } })
  })

  it.each([
    [{ size: 'x' }, 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'],
    [{}, 'spec.size: Required value'],
    [{ size: 99 }, 'spec.size: Invalid value: 99: spec.size in body should be less than or equal to 9'],
    [{ size: 1, color: 'green' }, 'spec.color: Unsupported value: "green": supported values: "red", "blue"'],
    [{ size: 1, code: 'A1' }, 'spec.code: Invalid value: "A1": spec.code in body should match \'^[a-z]+$\''],
    [
      { size: 1, port: 1.5 },
      'spec.port: Invalid value: "number": spec.port in body must be of type integer,string: "number"',
    ],
    [{ size: 1, tags: ['a', 'a'] }, 'spec.tags[1]: Duplicate value: "a"'],
    [{ size: 1, template: { kind: 'Pod' } }, 'spec.template.apiVersion: Required value: must not be empty'],
  ])('%j is refused', async (spec, message) => {
    const error = await failure(bench.create(widgets, widget('wrong', spec)))
    expect(error.code).toBe(422)
    expect(error.message).toBe(`Widget.example.com "wrong" is invalid: ${message}`)
  })

  it('take finalizers of any name', async () => {
    const finalizers = ['mine']
    const made = await bench.create(widgets, { ...widget('held', { size: 1 }), metadata: { name: 'held', finalizers } })
    expect(made.metadata.finalizers).toEqual(finalizers)
  })

  it('are checked strictly when asked', async () => {
    const error = await failure(
      bench.create(widgets, widget('strict', { size: 1, other: 2 }), { fieldValidation: 'Strict' }),
    )
    expect(error.message).toContain('strict decoding error: unknown field "spec.other"')
  })

  it('keep their status behind its door', async () => {
    const made = await bench.create(widgets, { ...widget('door', { size: 1 }), status: { replicas: 3 } })
    expect(made.status).toBeUndefined()
    const labelled = { ...made, metadata: { ...made.metadata, labels: { a: 'b' } } }
    const body = { ...labelled, spec: { size: 5 }, status: { replicas: 2, selector: 'app=x' } }
    const updated = await bench.update(widgets, body, 'status')
    expect(updated).toMatchObject({ spec: { size: 1 }, status: { replicas: 2 }, metadata: { generation: 1 } })
    expect(updated.metadata.labels).toBeUndefined()
    const changed = await bench.update(widgets, { ...updated, spec: { size: 2 }, status: {} })
    expect(changed).toMatchObject({ spec: { size: 2 }, status: { replicas: 2 }, metadata: { generation: 2 } })
  })

  it('scale', async () => {
    const scale = await bench.call({ verb: 'get', resource: widgets, name: 'door', subresource: 'scale' })
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 0 }, status: { replicas: 2, selector: 'app=x' } })
    const body = { ...scale, spec: { replicas: 7 } }
    await bench.call({ verb: 'update', resource: widgets, name: 'door', subresource: 'scale', body })
    expect((await bench.get(widgets, 'door')).spec).toMatchObject({ replicas: 7 })
  })

  it('are selected by field', async () => {
    await bench.create(widgets, widget('blue', { size: 1, color: 'blue' }))
    const list = await bench.call({ verb: 'list', resource: widgets, query: { fieldSelector: 'spec.color=blue' } })
    expect((list.items as AnyObject[]).map((item) => item.metadata.name)).toEqual(['blue'])
    const query = { fieldSelector: 'spec.size=1' }
    expect((await failure(bench.call({ verb: 'list', resource: widgets, query }))).code).toBe(400)
  })

  it('need a resourceVersion to be replaced', async () => {
    const error = await failure(bench.update(widgets, widget('blue', { size: 2 })))
    expect(error.message).toContain('metadata.resourceVersion: Invalid value: 0: must be specified for an update')
  })

  it('take no strategic merge patch', async () => {
    const patchType = 'application/strategic-merge-patch+json'
    const patch = bench.call({ verb: 'patch', resource: widgets, name: 'blue', patchType, body: { spec: { size: 2 } } })
    expect((await failure(patch)).code).toBe(415)
  })

  it('are applied', async () => {
    const apply = (manager: string, spec: object, force = 'false') =>
      bench.call({
        verb: 'patch',
        resource: widgets,
        name: 'applied',
        patchType: 'application/apply-patch+yaml',
        query: { fieldManager: manager, force },
        body: { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'applied' }, spec },
      })
    await apply('one', { size: 1, tags: ['a'] })
    const both = await apply('two', { tags: ['b'] })
    expect(both.spec).toMatchObject({ size: 1, tags: ['a', 'b'] })
    expect((await failure(apply('two', { size: 2 }))).reason).toBe('Conflict')
    expect((await apply('one', { size: 1 })).spec).toMatchObject({ size: 1, tags: ['b'] })
  })
})

describe('strict clients are told of', () => {
  const definition = definitionOf({
    plural: 'stricts',
    kind: 'Strict',
    versions: [
      {
        spec: {
          properties: {
            kept: { type: 'object', ...PRESERVE },
            template: { type: 'object', 'x-kubernetes-embedded-resource': true, ...PRESERVE },
          },
        },
      },
    ],
  })
  beforeAll(async () => {
    await bench.define(definition)
  })
  const template = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', wrong: 1 }, spec: { any: 1 } }

  it.each<[object, string]>([
    [{ metadata: { name: 'a', unknown: 1 } }, 'unknown field "metadata.unknown"'],
    [{ metadata: { name: 'a' }, spec: { template } }, 'unknown field "spec.template.metadata.wrong"'],
    [{ metadata: { name: 'a' }, other: 1 }, 'unknown field "other"'],
  ])('%j', async (object, message) => {
    const error = await failure(bench.create(typeOf(definition), object, { fieldValidation: 'Strict' }))
    expect(error.code).toBe(400)
    expect(error.message).toContain(message)
  })

  it('nothing that is kept', async () => {
    const spec = { kept: { a: null, b: { c: 1 } } }
    const made = await bench.create(typeOf(definition), widget('kept', spec), { fieldValidation: 'Strict' })
    expect(made.spec).toEqual(spec)
  })
})

describe('kinds that are built in', () => {
  it('cannot be replaced', async () => {
    const definition = definitionOf({ group: 'networking.k8s.io', plural: 'ingresses', kind: 'Ingress' })
    definition.metadata.annotations = { 'api-approved.kubernetes.io': 'unapproved, a test' }
    await bench.define(definition)
    const error = await failure(bench.create(typeOf(definition), widget('fake')))
    expect(error.message).toContain('Ingress.networking.k8s.io "fake" is invalid')
    expect(error.message).toContain('defaultBackend')
    const status = await settled('ingresses.networking.k8s.io', 'KubernetesAPIApprovalPolicyConformant', 'False')
    expect(conditionsOf(status)?.at(-1)).toMatchObject({ reason: 'UnapprovedAnnotation' })
    const ingresses = typeOf(definition)
    const spec = { defaultBackend: { service: { name: 'a', port: { number: 80 } } } }
    await bench.create(ingresses, widget('real', spec))
    await bench.call({ verb: 'delete', resource: DEFINITION_TYPE, name: 'ingresses.networking.k8s.io' })
    await vi.waitFor(async () =>
      expect((await failure(bench.readDefinition('ingresses.networking.k8s.io'))).code).toBe(404),
    )
    expect((await bench.get(ingresses, 'real')).kind).toBe('Ingress')
  })
})

describe('a definition that changes', () => {
  it('defaults and prunes what was stored before, also for those who watch', async () => {
    const definition = definitionOf({
      plural: 'olds',
      kind: 'Old',
      versions: [{ spec: { properties: { a: { type: 'string' }, gone: { type: 'string' } } } }],
    })
    const olds = typeOf(definition)
    await bench.define(definition)
    await bench.create(olds, widget('one', { gone: 'x' }))
    const current = await settled('olds.example.com', 'Established', 'True')
    const { spec } = definitionOf({
      plural: 'olds',
      kind: 'Old',
      versions: [{ spec: { properties: { a: { type: 'string', default: 'new' } } } }],
    })
    await bench.update(DEFINITION_TYPE, { ...current, spec })
    expect((await bench.get(olds, 'one')).spec).toEqual({ a: 'new' })
    const list = await bench.call({ verb: 'list', resource: olds })
    expect((list.items as AnyObject[])[0]!.spec).toEqual({ a: 'new' })
    const stop = new AbortController()
    const seen: WatchEvent[] = []
    for await (const batch of bench.api.watch({ resource: olds, namespace: 'default', signal: stop.signal })) {
      seen.push(...batch)
      stop.abort()
    }
    expect(seen[0]?.object).toMatchObject({ spec: { a: 'new' } })
  })

  it('lets values be that it would not take now', async () => {
    const loose = {
      plural: 'loose',
      kind: 'Loose',
      versions: [{ spec: { properties: { n: { type: 'integer' }, m: { type: 'integer' } } } }],
    }
    const definition = definitionOf(loose)
    await bench.define(definition)
    const made = await bench.create(typeOf(definition), widget('one', { n: 50, m: 1 }))
    const current = await settled('loose.example.com', 'Established', 'True')
    const { spec } = definitionOf({
      ...loose,
      versions: [{ spec: { properties: { n: { type: 'integer', maximum: 9 }, m: { type: 'integer' } } } }],
    })
    await bench.update(DEFINITION_TYPE, { ...current, spec })
    const changed = await bench.update(typeOf(definition), { ...made, spec: { n: 50, m: 2 } })
    expect(changed.spec).toEqual({ n: 50, m: 2 })
    const error = await failure(bench.update(typeOf(definition), { ...changed, spec: { n: 51, m: 2 } }))
    expect(error.message).toContain('spec.n: Invalid value: 51')
  })
})

describe('items of lists that are wrong since their definition changed', () => {
  const list = (more: object) => ({ type: 'array', ...more })
  const shape = (items: object) => ({
    plural: 'lists',
    kind: 'Lists',
    versions: [
      {
        spec: {
          properties: {
            atomic: list({ items }),
            set: list({ items, 'x-kubernetes-list-type': 'set' }),
            other: { type: 'integer' },
          },
        },
      },
    ],
  })
  const definition = definitionOf(shape({ type: 'string' }))
  beforeAll(async () => {
    await bench.define(definition)
    await bench.create(typeOf(definition), widget('one', { atomic: ['a', 'b'], set: ['a', 'b'] }))
    const current = await settled('lists.example.com', 'Established', 'True')
    await bench.update(DEFINITION_TYPE, { ...current, spec: definitionOf(shape({ type: 'string', enum: ['c'] })).spec })
  })

  it.each<[spec: object, wrong: string[]]>([
    [{ atomic: ['a', 'b'], set: ['a', 'b'], other: 1 }, []],
    [{ atomic: ['a', 'b', 'c'], set: ['a', 'b'] }, ['spec.atomic[0]', 'spec.atomic[1]']],
    [{ atomic: ['a', 'b'], set: ['b', 'c'] }, ['spec.set[0]']],
  ])('are let be only in a list that stays: %j', async (spec, wrong) => {
    const { metadata, ...rest } = await bench.get(typeOf(definition), 'one')
    const query = { dryRun: 'All' }
    const body = { ...rest, metadata, spec }
    const call = bench.call({ verb: 'update', resource: typeOf(definition), name: 'one', body, query })
    if (wrong.length === 0) return expect((await call).spec).toEqual(spec)
    const error = await failure(call)
    expect(error.details?.causes?.map(({ field }) => field)).toEqual(wrong)
  })
})

describe('versions', () => {
  it('show the same objects under their own names', async () => {
    const definition = definitionOf({
      plural: 'twins',
      kind: 'Twin',
      versions: [
        { name: 'v1', spec: { properties: { a: { type: 'string' } } } },
        { name: 'v2', spec: { properties: { a: { type: 'string' }, b: { type: 'string', default: 'two' } } } },
      ],
    })
    await bench.define(definition)
    const [v1, v2] = [typeOf(definition, 'v1'), typeOf(definition, 'v2')]
    await bench.create(v1, widget('one', { a: 'x' }))
    expect(await bench.get(v2, 'one')).toMatchObject({ apiVersion: 'example.com/v2', spec: { a: 'x', b: 'two' } })
    const made = await bench.create(v2, widget('two', { a: 'y' }))
    expect(made).toMatchObject({ apiVersion: 'example.com/v2', spec: { a: 'y', b: 'two' } })
    expect(await bench.get(v1, 'two')).toMatchObject({ apiVersion: 'example.com/v1', spec: { a: 'y' } })
    const list = await bench.call({ verb: 'list', resource: v2 })
    expect((list.items as AnyObject[]).map((item) => item.apiVersion)).toEqual(['example.com/v2', 'example.com/v2'])
  })
})

describe('what is wrong with a definition', () => {
  it.each([
    [
      { properties: { a: { type: 'string', pattern: '(' } } },
      'pattern: Invalid value: "(": must be a valid regular expression',
    ],
    [{ properties: { a: { type: 'string', default: 1 } } }, 'default: Invalid value: "integer"'],
    [{ properties: { a: { type: 'object', default: { x: 1 } } } }, 'must not have unknown fields'],
  ])('%j is refused', async (spec, message) => {
    const error = await failure(bench.define(definitionOf({ plural: 'wrongs', kind: 'Wrong', versions: [{ spec }] })))
    expect(error.code).toBe(422)
    expect(error.message).toContain(message)
  })
})

describe('servers on one store', () => {
  const rule = { rule: 'self.size() > 1' }
  const field = { type: 'string', pattern: '^[a-z|]+$', 'x-kubernetes-validations': [rule] }
  const definition = definitionOf({ versions: [{ spec: { properties: { a: field } } }] })

  it('serve what others define, now and after a restart', async () => {
    const store = await openMemoryStore()
    const first = await Bench.start({ store, sharedStore: true })
    const second = await Bench.start({ store, sharedStore: true })
    await first.define(definition)
    await vi.waitFor(() => second.create(typeOf(definition), widget('one', { a: 'xy' })))
    expect((await first.get(typeOf(definition), 'one')).spec).toEqual({ a: 'xy' })
    expect((await failure(second.create(typeOf(definition), widget('two', { a: 'x' })))).code).toBe(422)
    await first[Symbol.asyncDispose]()
    await second[Symbol.asyncDispose]()
    const third = await Bench.start({ store })
    expect((await third.get(typeOf(definition), 'one')).spec).toEqual({ a: 'xy' })
    expect((await failure(third.create(typeOf(definition), widget('two', { a: 'X' })))).message).toContain(
      'should match',
    )
    await third[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })
})
