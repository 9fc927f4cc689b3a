import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KubernetesObject, ManagedFieldsEntry } from '../api/meta/object.ts'
import { builtinSchema } from '../api/schema/builtin.ts'
import type { Schema } from '../api/schema/schema.ts'
import { newObjectFields } from './compare-fields.ts'
import { type FieldSet, memberPaths, union } from './field-set.ts'
import { asJson, isUnchanged, manageFields } from './manage-fields.ts'
import { objectShapeOf } from './merge-shape.ts'

const schema = builtinSchema('io.k8s.api.apps.v1.Deployment')
const T1 = Date.UTC(2026, 0, 1)
const T2 = Date.UTC(2026, 0, 2)

type Deployment = KubernetesObject & { spec?: Record<string, unknown>; status?: Record<string, unknown> }
const deployment = (extra: Partial<Deployment> = {}): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default', uid: 'u', creationTimestamp: 't', labels: { app: 'web' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        securityContext: {},
        containers: [
          {
            name: 'web',
            image: 'nginx',
            resources: {},
            ports: [{ containerPort: 80, protocol: 'TCP' }],
            command: ['a', 'b'],
          },
        ],
      },
    },
  },
  ...extra,
})

interface Step {
  readonly manager?: string
  readonly now?: number
  readonly subresource?: string
}
function write(old: Deployment | undefined, draft: Deployment, step: Step = {}): Deployment {
  manageFields({
    old,
    draft,
    manager: step.manager ?? 'kubectl',
    apiVersion: 'apps/v1',
    subresource: step.subresource ?? '',
    now: step.now ?? T1,
    schema,
    ...(!step.subresource && { reset: { 'f:status': {} } }),
  })
  return draft
}
const entries = (object: KubernetesObject): ManagedFieldsEntry[] => object.metadata.managedFields ?? []
const summary = (object: KubernetesObject) =>
  entries(object).map((e) => [e.manager, e.operation, e.time?.slice(0, 10), e.fieldsV1])
const edited = (old: Deployment, change: (draft: Deployment) => void): Deployment => {
  const draft = structuredClone(old)
  change(draft)
  return draft
}

describe('creation', () => {
  test('the creator owns all fields, and of those it made the field itself', () => {
    const created = write(undefined, deployment({ status: { replicas: 1 } }))
    expect(entries(created)).toEqual([
      {
        manager: 'kubectl',
        operation: 'Update',
        apiVersion: 'apps/v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
          'f:spec': {
            'f:replicas': {},
            'f:selector': {},
            'f:strategy': { 'f:type': {}, 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} } },
            'f:template': {
              'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
              'f:spec': {
                'f:securityContext': {},
                'f:containers': {
                  'k:{"name":"web"}': {
                    '.': {},
                    'f:name': {},
                    'f:image': {},
                    'f:resources': {},
                    'f:command': {},
                    'f:ports': {
                      '.': {},
                      'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ])
  })

  test('an unnamed manager is unknown', () => {
    expect(entries(write(undefined, deployment(), { manager: '' }))[0]?.manager).toBe('unknown')
  })

  test('owners are one piece each, finalizers one by one', () => {
    const object = deployment()
    object.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: '1' }]
    object.metadata.finalizers = ['a.b/c']
    object.metadata.generateName = 'web-'
    delete object.spec
    delete object.metadata.labels
    expect(entries(write(undefined, object))[0]?.fieldsV1).toEqual({
      'f:metadata': {
        'f:generateName': {},
        'f:ownerReferences': { '.': {}, 'k:{"uid":"1"}': {} },
        'f:finalizers': { '.': {}, 'v:"a.b/c"': {} },
      },
    })
  })

  test('managed fields that were sent are taken as those before', () => {
    const object = deployment()
    object.metadata.managedFields = [
      {
        manager: 'old',
        operation: 'Apply',
        apiVersion: 'apps/v1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': { 'f:paused': {} } },
      },
    ]
    delete object.metadata.labels
    expect(summary(write(undefined, object)).map(([manager]) => manager)).toEqual(['old', 'kubectl'])
    expect(entries(object)[1]?.fieldsV1).not.toHaveProperty('f:metadata')
  })
})

describe('updates', () => {
  const created = write(undefined, deployment())

  test('nothing changed, nothing recorded', () => {
    const draft = write(created, structuredClone(created), { manager: 'other', now: T2 })
    expect(draft.metadata.managedFields).toBe(created.metadata.managedFields)
    expect(isUnchanged(draft, created)).toBe(true)
  })

  test('what changes moves to the writer', () => {
    const draft = edited(created, (object) => {
      object.spec!.replicas = 3
      object.metadata.annotations = { note: 'x' }
    })
    write(created, draft, { manager: 'scaler', now: T2 })
    const [first, second] = entries(draft)
    expect(first).toMatchObject({ manager: 'kubectl', time: '2026-01-01T00:00:00Z' })
    expect(first?.fieldsV1?.['f:spec']).not.toHaveProperty('f:replicas')
    expect(second).toMatchObject({ manager: 'scaler', time: '2026-01-02T00:00:00Z' })
    expect(second?.fieldsV1).toEqual({
      'f:metadata': { 'f:annotations': { '.': {}, 'f:note': {} } },
      'f:spec': { 'f:replicas': {} },
    })
    expect(isUnchanged(draft, created)).toBe(false)
  })

  test('the same manager keeps one entry with a new time', () => {
    const draft = write(
      created,
      edited(created, (object) => {
        object.spec!.replicas = 3
      }),
      { now: T2 },
    )
    expect(summary(draft)).toEqual([['kubectl', 'Update', '2026-01-02', entries(created)[0]?.fieldsV1]])
  })

  test('what is removed belongs to nobody, and its owner keeps the time', () => {
    const draft = write(
      created,
      edited(created, (object) => {
        delete object.metadata.labels
      }),
      { manager: 'other', now: T2 },
    )
    expect(summary(draft)).toHaveLength(1)
    expect(entries(draft)[0]?.fieldsV1).not.toHaveProperty('f:metadata')
    expect(entries(draft)[0]?.time).toBe('2026-01-01T00:00:00Z')
  })

  test('an item of a list is told by its keys, not by its place', () => {
    const draft = edited(created, (object) => {
      const spec = (object.spec!.template as { spec: { containers: unknown[] } }).spec
      spec.containers.unshift({ name: 'side', image: 'x' })
    })
    write(created, draft, { manager: 'injector', now: T2 })
    expect(entries(draft)[1]?.fieldsV1).toEqual({
      'f:spec': {
        'f:template': {
          'f:spec': { 'f:containers': { 'k:{"name":"side"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
        },
      },
    })
  })

  test('each subresource has its own entry', () => {
    const draft = edited(created, (object) => {
      object.status = { replicas: 1, conditions: [{ type: 'Available', status: 'True' }] }
    })
    write(created, draft, { manager: 'kubectl', subresource: 'status', now: T2 })
    expect(entries(draft)[1]).toMatchObject({
      manager: 'kubectl',
      subresource: 'status',
      fieldsV1: {
        'f:status': {
          'f:replicas': {},
          'f:conditions': { '.': {}, 'k:{"type":"Available"}': { '.': {}, 'f:type': {}, 'f:status': {} } },
        },
      },
    })
  })

  test('two items of one key are compared as one piece', () => {
    const twice = edited(created, (object) => {
      const [container] = (object.spec!.template as { spec: { containers: Record<string, unknown>[] } }).spec.containers
      container!.env = [
        { name: 'A', value: '1' },
        { name: 'A', value: '2' },
      ]
    })
    write(created, twice, { manager: 'm', now: T2 })
    expect(write(twice, structuredClone(twice), { manager: 'n' }).metadata.managedFields).toBe(
      twice.metadata.managedFields,
    )
  })
})

describe('managed fields that users send', () => {
  const created = write(undefined, deployment())
  const mine: ManagedFieldsEntry = {
    manager: 'mine',
    operation: 'Apply',
    apiVersion: 'apps/v1',
    time: '2025-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { 'f:replicas': {} } },
  }
  const sending = (managedFields: unknown, change: (draft: Deployment) => void = () => {}) =>
    write(
      created,
      edited(created, (draft) => {
        draft.metadata.managedFields = managedFields as ManagedFieldsEntry[]
        change(draft)
      }),
      { manager: 'editor', now: T2 },
    )

  test('are taken, as kubectl rewrites them when it moves to server-side apply', () => {
    expect(entries(sending([mine]))).toEqual([mine])
  })

  test('are the base of the change', () => {
    const draft = sending([mine], (object) => {
      object.spec!.replicas = 9
    })
    expect(summary(draft)).toEqual([['editor', 'Update', '2026-01-02', { 'f:spec': { 'f:replicas': {} } }]])
  })

  test('one empty entry resets them for good', () => {
    const reset = sending([{}])
    expect(reset.metadata).not.toHaveProperty('managedFields')
    const later = write(
      reset,
      edited(reset, (object) => {
        object.spec!.replicas = 9
      }),
      { now: T2 },
    )
    expect(later.metadata).not.toHaveProperty('managedFields')
  })

  test.each<[string, unknown]>([
    ['none', undefined],
    ['an empty list', []],
    ['unknown operation', [{ ...mine, operation: 'Merge' }]],
    ['unknown form', [{ ...mine, fieldsType: 'V2' }]],
    ['malformed element', [{ ...mine, fieldsV1: { x: {} } }]],
    ['malformed key', [{ ...mine, fieldsV1: { 'k:{': {} } }]],
    ['no tree', [{ ...mine, fieldsV1: { 'f:a': 1 } }]],
    ['null', [null]],
  ])('%s leaves the old ones', (_, managedFields) => {
    expect(sending(managedFields).metadata.managedFields).toBe(created.metadata.managedFields)
  })

  test('are not taken through a subresource', () => {
    const draft = edited(created, (object) => {
      object.metadata.managedFields = [mine]
    })
    write(created, draft, { subresource: 'status' })
    expect(draft.metadata.managedFields).toBe(created.metadata.managedFields)
  })
})

test('only ten updaters are kept apart', () => {
  let object = write(undefined, deployment(), { manager: 'creator' })
  for (let i = 0; i < 14; i++) {
    const draft = edited(object, (next) => {
      next.metadata.annotations = { ...next.metadata.annotations, [`a${i}`]: 'x' }
    })
    object = write(object, draft, { manager: `m${String(i).padStart(2, '0')}`, now: T1 + (i + 1) * 1000 })
  }
  const names = entries(object).map((entry) => entry.manager)
  expect(names).toHaveLength(10)
  expect(names[0]).toBe('ancient-changes')
  expect(names.slice(1)).toEqual(['m05', 'm06', 'm07', 'm08', 'm09', 'm10', 'm11', 'm12', 'm13'])
  const annotations = entries(object)[0]?.fieldsV1?.['f:metadata']?.['f:annotations'] ?? {}
  expect(Object.keys(annotations)).toEqual(['.', 'f:a0', 'f:a1', 'f:a2', 'f:a3', 'f:a4'])
})

describe('custom resources', () => {
  const custom: Schema = {
    type: 'object',
    properties: {
      metadata: builtinSchema('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'),
      spec: {
        type: 'object',
        properties: { size: { type: 'integer' }, free: { type: 'object', preserveUnknownFields: true } },
      },
    },
  }
  test('own their spec, merge unknown objects by field and take unknown lists as one piece', () => {
    const draft = {
      apiVersion: 'a.b/v1',
      kind: 'Thing',
      metadata: { name: 'x' },
      spec: { size: 1, free: { map: { a: 1 }, list: [{ name: 'a' }] } },
    }
    manageFields({ old: undefined, draft, manager: 'm', apiVersion: 'a.b/v1', now: T1, schema: custom })
    expect(entries(draft)[0]?.fieldsV1).toEqual({
      'f:spec': { '.': {}, 'f:size': {}, 'f:free': { '.': {}, 'f:map': { '.': {}, 'f:a': {} }, 'f:list': {} } },
    })
  })
})

/** Such a field is not owned when it has been emptied. */
const ALWAYS_THERE = new Set(['.spec', '.spec.template', '.spec.template.spec', '.spec.template.spec.containers'])

test('however objects change, every field has an owner and nobody owns what is not there', () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const container = fc.record({ name, image: name, args: fc.array(name, { maxLength: 2 }) }, { requiredKeys: ['name'] })
  const containers = fc.uniqueArray(container, { selector: (one) => one.name, maxLength: 3 })
  const states = fc.record({
    manager: name,
    labels: fc.option(fc.dictionary(name, name), { nil: undefined }),
    spec: fc.record(
      { replicas: fc.nat(2), template: fc.record({ spec: fc.record({ containers }) }) },
      { requiredKeys: [] },
    ),
  })
  fc.assert(
    fc.property(fc.array(states, { minLength: 2, maxLength: 5 }), (sequence) => {
      let object: Deployment | undefined
      for (const { manager, labels, spec } of sequence) {
        const draft = JSON.parse(
          JSON.stringify({ ...deployment(), metadata: { name: 'x', labels }, spec }),
        ) as Deployment
        object = write(object, draft, { manager })
        // A write that leaves nothing to own ends the tracking.
        if (!object.metadata.managedFields) return
        const owned = entries(object).reduce<FieldSet>((all, entry) => union(all, entry.fieldsV1), undefined)
        const there = memberPaths(newObjectFields(asJson(object), objectShapeOf(schema)))
        const isThere = (path: string) => there.some((one) => one.startsWith(path))
        expect(memberPaths(owned).filter((path) => !isThere(path))).toEqual([])
        const isLeaf = (path: string) => !there.some((one) => one !== path && one.startsWith(path))
        const leaves = there.filter((path) => isLeaf(path) && !ALWAYS_THERE.has(path))
        expect(memberPaths(owned)).toEqual(expect.arrayContaining(leaves))
      }
    }),
  )
})
