import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ApiError } from '../api/meta/api-error.ts'
import type { Json, JsonObject, KubernetesObject } from '../api/meta/object.ts'
import { builtinSchema } from '../api/schema/builtin.ts'
import { type ApplyResult, applyPatch } from './apply-patch.ts'
import { asJson, isUnchanged, manageFields } from './manage-fields.ts'

const schema = builtinSchema('io.k8s.api.apps.v1.Deployment')
const T1 = Date.UTC(2026, 0, 1)
const T2 = Date.UTC(2026, 0, 2)
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

const configuration = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default', ...metadata },
  spec,
})

interface Options {
  readonly manager?: string
  readonly force?: boolean
  readonly now?: number
}
/** Whatever is shared must not be changed; a frozen object would say so. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const child of Object.values(value)) frozen(child)
  }
  return value
}

const apply = (old: KubernetesObject | undefined, patch: Json, options: Options = {}): ApplyResult =>
  applyPatch({
    old: frozen(old),
    draft: old && structuredClone(old),
    patch: frozen(patch),
    manager: options.manager ?? 'a',
    apiVersion: 'apps/v1',
    force: options.force ?? false,
    now: options.now ?? T1,
    schema,
    reset: { 'f:status': {} },
  })

function update(
  old: KubernetesObject | undefined,
  manager: string,
  change: (spec: JsonObject, object: KubernetesObject) => void,
) {
  const draft = structuredClone(old ?? (configuration({}) as unknown as KubernetesObject))
  change(asJson(draft).spec as JsonObject, draft)
  manageFields({ old: frozen(old), draft, manager, apiVersion: 'apps/v1', now: T1, schema })
  return draft
}
const specOf = (object: KubernetesObject) => asJson(object).spec as JsonObject
const fieldsOf = (object: KubernetesObject, manager: string, operation = 'Apply') =>
  object.metadata.managedFields?.find((e) => e.manager === manager && e.operation === operation)?.fieldsV1

function refusal(run: () => unknown): ApiError {
  try {
    run()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

const pod = (containers: Json) => ({ template: { spec: { containers } } })
const containersOf = (object: KubernetesObject) =>
  ((specOf(object).template as JsonObject).spec as JsonObject).containers

describe('the first apply', () => {
  test('creates the object and owns what was named', () => {
    const sent = configuration(
      { replicas: 1, ...pod([{ name: 'c', image: 'x', ports: [{ containerPort: 80 }] }]) },
      { labels: { app: 'web' } },
    )
    const { object, isUnchanged: same } = apply(undefined, sent)
    expect(same).toBe(false)
    expect(object.metadata.managedFields).toEqual([
      {
        manager: 'a',
        operation: 'Apply',
        apiVersion: 'apps/v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { 'f:app': {} } },
          'f:spec': {
            'f:replicas': {},
            'f:template': {
              'f:spec': {
                'f:containers': {
                  'k:{"name":"c"}': {
                    '.': {},
                    'f:name': {},
                    'f:image': {},
                    'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
                  },
                },
              },
            },
          },
        },
      },
    ])
  })

  test('does not own what its door cannot set', () => {
    const { object } = apply(undefined, { ...configuration({ replicas: 1 }), status: { replicas: 1 } })
    expect(fieldsOf(object, 'a')).toEqual({ 'f:spec': { 'f:replicas': {} } })
  })

  test('on an object that nobody tracked leaves the rest to those before', () => {
    const old = { ...configuration({ replicas: 1, paused: true }) } as unknown as KubernetesObject
    const error = refusal(() => apply(old, configuration({ replicas: 2 })))
    expect(error.message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas',
    )
    const { object } = apply(old, configuration({ replicas: 2 }), { force: true })
    expect(fieldsOf(object, 'before-first-apply', 'Update')).toEqual({ 'f:spec': { 'f:paused': {} } })
    expect(fieldsOf(object, 'a')).toEqual({ 'f:spec': { 'f:replicas': {} } })
  })
})

describe('later applies', () => {
  const first = apply(
    undefined,
    configuration({ replicas: 1, paused: true, ...pod([{ name: 'c', image: 'x' }]) }),
  ).object

  test('the same again changes nothing', () => {
    const sent = configuration({ replicas: 1, paused: true, ...pod([{ name: 'c', image: 'x' }]) })
    const { object, isUnchanged: same } = apply(first, sent, { now: T2 })
    expect(same).toBe(true)
    expect(object).toEqual(first)
  })

  test('a field that is no longer named goes away', () => {
    const { object } = apply(first, configuration({ replicas: 1, ...pod([{ name: 'c', image: 'x' }]) }), { now: T2 })
    expect(specOf(object)).not.toHaveProperty('paused')
    expect(object.metadata.managedFields?.[0]?.time).toBe('2026-01-02T00:00:00Z')
  })

  test.each([{ finalizers: ['a'] }, { labels: { app: 'web' } }])(
    'metadata stays when its only owned field goes: %j',
    (metadata) => {
      const held = apply(undefined, configuration({}, metadata)).object
      const { managedFields, ...rest } = apply(held, configuration({})).object.metadata
      expect(rest).toEqual({ name: 'web', namespace: 'default' })
    },
  )

  test('a container that is no longer named goes away, with what others set in it', () => {
    const injected = update(first, 'injector', (spec) => {
      const [container] = ((spec.template as JsonObject).spec as JsonObject).containers as JsonObject[]
      container!.env = [{ name: 'X', value: '1' }]
    })
    const { object } = apply(
      injected,
      configuration({ replicas: 1, paused: true, ...pod([{ name: 'd', image: 'y' }]) }),
    )
    expect(containersOf(object)).toEqual([{ name: 'd', image: 'y' }])
    expect(fieldsOf(object, 'injector', 'Update')).toBeUndefined()
  })

  test('a field that another applier names stays', () => {
    const both = apply(first, configuration({ paused: true }), { manager: 'b' }).object
    const { object } = apply(both, configuration({ replicas: 1, ...pod([{ name: 'c', image: 'x' }]) }))
    expect(specOf(object).paused).toBe(true)
    expect(fieldsOf(object, 'b')).toEqual({ 'f:spec': { 'f:paused': {} } })
  })

  test('what others added stays, in its place', () => {
    const injected = update(first, 'injector', (spec) => {
      ;(((spec.template as JsonObject).spec as JsonObject).containers as Json[]).unshift({ name: 'side', image: 's' })
    })
    const sent = configuration({ replicas: 1, paused: true, ...pod([{ name: 'c', image: 'x' }, { name: 'd' }]) })
    expect(containersOf(apply(injected, sent).object)).toEqual([
      { name: 'side', image: 's' },
      { name: 'c', image: 'x' },
      { name: 'd' },
    ])
  })

  test('a defaulted key of a list is the same key', () => {
    const ports = (list: Json) => configuration(pod([{ name: 'c', ports: list }]))
    const one = apply(undefined, ports([{ containerPort: 80 }])).object
    const defaulted = structuredClone(one)
    ;(((containersOf(defaulted) as JsonObject[])[0]!.ports as JsonObject[])[0] as JsonObject).protocol = 'TCP'
    const { object, isUnchanged: same } = apply(defaulted, ports([{ containerPort: 80 }]))
    expect(same).toBe(true)
    expect((containersOf(object) as JsonObject[])[0]!.ports).toEqual([{ containerPort: 80, protocol: 'TCP' }])
  })

  test('atomic parts are replaced', () => {
    const selector = (matchLabels: JsonObject) => configuration({ selector: { matchLabels } })
    const one = apply(undefined, selector({ a: '1', b: '2' })).object
    expect(specOf(apply(one, selector({ c: '3' })).object).selector).toEqual({ matchLabels: { c: '3' } })
  })

  test('null takes a field away and keeps it owned', () => {
    const { object } = apply(first, configuration({ replicas: 1, paused: null, ...pod([{ name: 'c', image: 'x' }]) }))
    expect(specOf(object)).not.toHaveProperty('paused')
    expect(fieldsOf(object, 'a')?.['f:spec']).toHaveProperty('f:paused')
  })

  test('the creation time that clients send as null stays', () => {
    const old = structuredClone(first)
    old.metadata.creationTimestamp = '2026-01-01T00:00:00Z'
    const sent = configuration(
      { replicas: 1, paused: true, ...pod([{ name: 'c', image: 'x' }]) },
      { creationTimestamp: null },
    )
    expect(apply(old, sent).object.metadata.creationTimestamp).toBe('2026-01-01T00:00:00Z')
  })

  test('a finalizer is one item of a set', () => {
    const withFinalizers = (finalizers: Json) => configuration({}, { finalizers })
    const one = apply(undefined, withFinalizers(['a.b/c'])).object
    const two = apply(one, withFinalizers(['d.e/f']), { manager: 'b' }).object
    expect(two.metadata.finalizers).toEqual(['a.b/c', 'd.e/f'])
    expect(apply(two, configuration({})).object.metadata.finalizers).toEqual(['d.e/f'])
  })
})

describe('conflicts', () => {
  const created = update(undefined, 'kubectl-client-side-apply', (spec) => {
    spec.replicas = 1
    spec.paused = false
    spec.template = { spec: { containers: [{ name: 'c', image: 'x' }] } }
  })

  test('name the manager and the field', () => {
    const error = refusal(() => apply(created, configuration({ replicas: 3 })))
    expect(error.toStatus()).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
      details: {
        causes: [
          {
            reason: 'FieldManagerConflict',
            message: 'conflict with "kubectl-client-side-apply" using apps/v1',
            field: '.spec.replicas',
          },
        ],
      },
    })
  })

  test('several are listed', () => {
    const error = refusal(() => apply(created, configuration({ replicas: 3, ...pod([{ name: 'c', image: 'y' }]) })))
    expect(error.message).toBe(
      [
        'Apply failed with 2 conflicts: conflicts with "kubectl-client-side-apply" using apps/v1:',
        '- .spec.replicas',
        '- .spec.template.spec.containers[name="c"].image',
      ].join('\n'),
    )
  })

  test('with an applier name no version', () => {
    const applied = apply(undefined, configuration({ replicas: 1 }), { manager: 'b' }).object
    expect(refusal(() => apply(applied, configuration({ replicas: 2 }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "b": .spec.replicas',
    )
  })

  test('none where both want the same value', () => {
    const { object } = apply(created, configuration({ replicas: 1 }))
    expect(fieldsOf(object, 'a')).toEqual({ 'f:spec': { 'f:replicas': {} } })
    expect(fieldsOf(object, 'kubectl-client-side-apply', 'Update')?.['f:spec']).toHaveProperty('f:replicas')
  })

  test('force takes the field', () => {
    const { object } = apply(created, configuration({ replicas: 3 }), { force: true })
    expect(specOf(object).replicas).toBe(3)
    expect(fieldsOf(object, 'kubectl-client-side-apply', 'Update')?.['f:spec']).not.toHaveProperty('f:replicas')
  })

  test('a refused apply leaves the old object alone', () => {
    const before = structuredClone(created)
    refusal(() => apply(created, configuration({ replicas: 3 })))
    expect(created).toEqual(before)
  })
})

describe('moving from client-side apply', () => {
  const sent = configuration({ replicas: 1, paused: true })
  const created = update(undefined, 'kubectl-client-side-apply', (spec, object) => {
    Object.assign(spec, { replicas: 1, paused: true })
    object.metadata.annotations = { [LAST_APPLIED]: JSON.stringify(sent) }
  })

  test('kubectl takes over what it applied itself', () => {
    const { object } = apply(created, configuration({ replicas: 2, paused: true }), { manager: 'kubectl' })
    expect(specOf(object).replicas).toBe(2)
    expect(JSON.parse(object.metadata.annotations![LAST_APPLIED]!)).toMatchObject({ spec: { replicas: 2 } })
  })

  test('but not what was changed since, and no other manager', () => {
    const scaled = update(created, 'scaler', (spec) => {
      spec.replicas = 5
    })
    const change = configuration({ replicas: 2, paused: false })
    const error = refusal(() => apply(scaled, change, { manager: 'kubectl' }))
    expect(error.message).toBe('Apply failed with 1 conflict: conflict with "scaler" using apps/v1: .spec.replicas')
    expect(refusal(() => apply(created, change)).details?.causes).toHaveLength(2)
  })
})

describe('what is refused', () => {
  test.each<[string, Json, string]>([
    ['no object', [], 'must be an object'],
    ['managed fields', configuration({}, { managedFields: [{ manager: 'x' }] }), 'metadata.managedFields must be nil'],
    [
      'another version',
      { ...configuration({}), apiVersion: 'apps/v1beta1' },
      'Incorrect version specified in apply patch. Specified patch version: apps/v1beta1, expected: apps/v1',
    ],
    [
      'unknown field',
      configuration({ foo: 1 }),
      'failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema',
    ],
    [
      'duplicate item',
      configuration(pod([{ name: 'c' }, { name: 'c' }])),
      '.spec.template.spec.containers: duplicate entries for key [name="c"]',
    ],
    [
      'item without key',
      configuration(pod([{ image: 'c' }])),
      '.spec.template.spec.containers: associative list with keys has an element that omits a key field',
    ],
  ])('%s', (_, patch, message) => {
    const error = refusal(() => apply(undefined, patch))
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining(message) })
  })

  test('prototypes are out of reach', () => {
    const hostile = JSON.parse(
      '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"__proto__":"x","constructor":"y"}}}',
    )
    const old = apply(undefined, configuration({ replicas: 1 }, { labels: { a: 'b' } })).object
    const { object } = apply(old, hostile, { manager: 'b' })
    expect(Object.keys(object.metadata.labels!)).toEqual(['a', '__proto__', 'constructor'])
    expect(({} as JsonObject).x).toBeUndefined()
  })
})

describe('properties', () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const container = fc.record(
    { name, image: fc.constantFrom('1', '2'), command: fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }) },
    { requiredKeys: ['name'] },
  )
  const spec = fc.record(
    {
      replicas: fc.nat(3),
      paused: fc.boolean(),
      template: fc.record({ spec: fc.record({ containers: fc.uniqueArray(container, { selector: (c) => c.name }) }) }),
    },
    { requiredKeys: [] },
  )
  const labels = fc.dictionary(name, name, { maxKeys: 3 })
  const configurations = fc
    .tuple(spec, labels)
    .map(([s, l]) => JSON.parse(JSON.stringify(configuration(s as unknown as JsonObject, { labels: l }))) as JsonObject)

  test('applying again what was just applied changes nothing', () => {
    fc.assert(
      fc.property(configurations, configurations, configurations, (one, other, two) => {
        const start = apply(apply(undefined, one).object, other, { manager: 'b', force: true }).object
        const next = apply(start, two, { force: true, now: T2 }).object
        const again = apply(next, two, { now: T2 + 1000 })
        expect(again.isUnchanged).toBe(true)
        expect(again.object).toEqual(next)
        expect(isUnchanged(again.object, next)).toBe(true)
      }),
    )
  })

  test('a sole applier gets exactly what it applied last', () => {
    fc.assert(
      fc.property(configurations, configurations, (one, two) => {
        const result = apply(apply(undefined, one).object, two).object
        const { managedFields: _, ...metadata } = result.metadata
        const fresh = apply(undefined, two).object
        const { managedFields: __, ...expected } = fresh.metadata
        expect(withoutEmpty({ ...result, metadata } as unknown as Json)).toEqual(
          withoutEmpty({ ...fresh, metadata: expected } as unknown as Json),
        )
      }),
    )
  })
})

/** An emptied list or map and none at all are the same to an applier. */
function withoutEmpty(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([key, child]) => [key, withoutEmpty(child ?? null)] as const)
  return Object.fromEntries(
    fields.filter(([, child]) => !(typeof child === 'object' && child !== null && Object.keys(child).length === 0)),
  )
}
