import { describe, expect, test } from 'vitest'
import { FieldPath } from './field-path.ts'
import { nameIsDnsSubdomain } from './names.ts'
import type { ManagedFieldsEntry, ObjectMeta } from './object.ts'
import { validateFieldManager, validateObjectMeta, validateObjectMetaUpdate } from './object-meta-validation.ts'

const rules = { namespaced: true, validateName: nameIsDnsSubdomain, standardFinalizersOnly: true }
const good: ObjectMeta = { name: 'a', namespace: 'default' }
const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'u' }

describe('on creation', () => {
  test.each<[string, ObjectMeta, string[]]>([
    ['a plain one', good, []],
    ['no name', { namespace: 'default' }, ['metadata.name: Required value: name or generateName is required']],
    ['no namespace', { name: 'a' }, ['metadata.namespace: Required value']],
    [
      'bad name',
      { ...good, name: 'A' },
      [expect.stringMatching(/^metadata\.name: Invalid value: "A": a lowercase RFC 1123/)],
    ],
    [
      'bad generateName',
      { ...good, generateName: 'AB-' },
      [expect.stringMatching(/^metadata\.generateName: Invalid value: "AB-"/)],
    ],
    ['good generateName', { ...good, generateName: 'a-' }, []],
    [
      'bad namespace',
      { ...good, namespace: 'a.b' },
      ['metadata.namespace: Invalid value: "a.b": must not contain dots'],
    ],
    [
      'negative generation',
      { ...good, generation: -1 },
      ['metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'bad label key',
      { ...good, labels: { '/a': 'b' } },
      ['metadata.labels: Invalid value: "/a": prefix part must be non-empty'],
    ],
    [
      'bad label value',
      { ...good, labels: { a: 'b c' } },
      [expect.stringMatching(/^metadata\.labels: Invalid value: "b c": a valid label must/)],
    ],
    ['upper case annotation', { ...good, annotations: { 'Example.com/A': 'x' } }, []],
    [
      'bad annotation',
      { ...good, annotations: { 'a b': 'x' } },
      [expect.stringMatching(/^metadata\.annotations: Invalid value: "a b"/)],
    ],
    ['largest annotations', { ...good, annotations: { a: 'x'.repeat(262143) } }, []],
    [
      'too large annotations',
      { ...good, annotations: { a: 'x'.repeat(262144) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    ['owner', { ...good, ownerReferences: [owner] }, []],
    [
      'owner with nothing',
      { ...good, ownerReferences: [{ apiVersion: 'apps/', kind: '', name: '', uid: '' }] },
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      'event as owner',
      { ...good, ownerReferences: [{ ...owner, apiVersion: 'v1', kind: 'Event' }] },
      [expect.stringContaining('/v1, Kind=Event is disallowed from being an owner')],
    ],
    [
      'two controllers',
      {
        ...good,
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, name: 'b', controller: true },
        ],
      },
      [
        expect.stringContaining(
          'Only one reference can have Controller set to true. Found "true" in references for rs and b',
        ),
      ],
    ],
    ['finalizers', { ...good, finalizers: ['a.b/c', 'orphan'] }, []],
    [
      'unqualified finalizer',
      { ...good, finalizers: ['mine'] },
      [
        'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      'contradicting finalizers',
      { ...good, finalizers: ['orphan', 'foregroundDeletion'] },
      [expect.stringContaining('finalizer orphan and foregroundDeletion cannot be both set')],
    ],
    ['managed fields', { ...good, managedFields: [{ operation: 'Update', manager: 'm', fieldsType: 'FieldsV1' }] }, []],
    [
      'bad managed fields',
      { ...good, managedFields: [{ operation: 'Merge', fieldsType: 'V2' } as unknown as ManagedFieldsEntry] },
      [
        'metadata.managedFields[0].operation: Invalid value: "Merge": must be `Apply` or `Update`',
        'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
      ],
    ],
  ])('%s', (_, meta, errors) => {
    expect(validateObjectMeta(meta, rules).map((e) => `${e.field}: ${e.message}`)).toEqual(errors)
  })

  test('a cluster-wide kind has no namespace', () => {
    const errors = validateObjectMeta(good, { ...rules, namespaced: false })
    expect(errors).toMatchObject([{ field: 'metadata.namespace', message: 'Forbidden: not allowed on this type' }])
  })

  test('a custom resource takes any finalizer', () => {
    expect(validateObjectMeta({ ...good, finalizers: ['mine'] }, { ...rules, standardFinalizersOnly: false })).toEqual(
      [],
    )
  })
})

describe('on update', () => {
  const old: ObjectMeta = {
    ...good,
    uid: 'u',
    resourceVersion: '1',
    generation: 2,
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
  test.each<[string, Partial<ObjectMeta>, Partial<ObjectMeta>, string[]]>([
    ['nothing', {}, {}, []],
    ['name', { name: 'b' }, {}, ['metadata.name: Invalid value: "b": field is immutable']],
    ['uid', { uid: 'v' }, {}, ['metadata.uid: Invalid value: "v": field is immutable']],
    [
      'creation',
      { creationTimestamp: undefined },
      {},
      ['metadata.creationTimestamp: Invalid value: null: field is immutable'],
    ],
    [
      'no version',
      { resourceVersion: '' },
      {},
      ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
    ],
    ['generation down', { generation: 1 }, {}, ['metadata.generation: Invalid value: 1: must not be decremented']],
    ['finalizer while alive', { finalizers: ['a.b/c'] }, {}, []],
    [
      'finalizer while deleted',
      { finalizers: ['a.b/c'], deletionTimestamp: 'x' },
      { deletionTimestamp: 'x' },
      [
        'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.b/c"}',
      ],
    ],
    [
      'finalizer removed while deleted',
      { deletionTimestamp: 'x' },
      { finalizers: ['a.b/c'], deletionTimestamp: 'x' },
      [],
    ],
    ['bad label', { labels: { a: '-' } }, {}, [expect.stringMatching(/^metadata\.labels: Invalid value: "-"/)]],
  ])('%s', (_, change, was, errors) => {
    const found = validateObjectMetaUpdate({ ...old, ...change }, { ...old, ...was }, rules)
    expect(found.map((e) => `${e.field}: ${e.message}`)).toEqual(errors)
  })
})

test('field managers', () => {
  const path = FieldPath.root('fieldManager')
  expect(validateFieldManager('kubectl edit', path)).toEqual([])
  expect(validateFieldManager('x'.repeat(129), path)).toMatchObject([{ reason: 'FieldValueTooLong' }])
  expect(validateFieldManager('a\nb', path)).toMatchObject([
    { message: 'Invalid value: "a\\nb": should only contain printable characters (found: U+000A)' },
  ])
})
