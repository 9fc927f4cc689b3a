import { describe, expect, it } from 'vitest'
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../../generated/core-v1.ts'
import { cells, describeRules, describeUpdateRules } from '../rules.contract.ts'
import { persistentVolumeClaimKind } from './kind.ts'

const claim = (): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'shop', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, storageClassName: 'fast' },
})
const bound = (): PersistentVolumeClaim => ({
  ...claim(),
  spec: { ...claim().spec, volumeName: 'pv-1' },
  status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] },
})
const spec = (change: Partial<PersistentVolumeClaimSpec>) => (draft: PersistentVolumeClaim) => {
  draft.spec = { ...draft.spec, ...change }
}
const size = (storage: string) => spec({ resources: { requests: { storage } } })

describeRules(persistentVolumeClaimKind, claim(), [
  [
    'no spec',
    (draft) => delete draft.spec,
    'spec.accessModes: Required value: at least 1 access mode is required',
    'spec.resources[storage]: Required value',
  ],
  ['no class at all', spec({ storageClassName: '' })],
  ['nothing to store', size('0'), 'spec.resources[storage]: Invalid value: "0": must be greater than zero'],
  [
    'an unknown mode',
    spec({ volumeMode: 'Tape' }),
    'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
  ],
  [
    'filled from something of the core group',
    spec({ dataSource: { kind: 'Secret', name: '' } }),
    'spec.dataSource.name: Required value',
    'spec.dataSource: Invalid value: "Secret": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
  ],
  [
    'two different sources',
    spec({
      dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
      dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'b' },
    }),
    'spec: Invalid value: "spec.dataSource": must match dataSourceRef',
  ],
  [
    'a selector with a wrong operator',
    spec({ selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } }),
    'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
  ],
])

const IMMUTABLE =
  'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

describeUpdateRules(persistentVolumeClaimKind, bound(), [
  ['growing', size('5Gi')],
  ['another attributes class', spec({ volumeAttributesClassName: 'gold' })],
  ['taking a failed expansion back', size('1536Mi')],
  [
    'shrinking below what there is',
    size('1Gi'),
    'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
  ],
  ['another class', spec({ storageClassName: 'slow' }), IMMUTABLE],
  ['another volume', spec({ volumeName: 'pv-2' }), IMMUTABLE],
  ['another mode', spec({ volumeMode: 'Block' }), IMMUTABLE, 'volumeMode: Invalid value: "Block": field is immutable'],
])

describeUpdateRules(persistentVolumeClaimKind, { ...claim(), status: { phase: 'Pending' } }, [
  ['binding', spec({ volumeName: 'pv-1' })],
  ['growing before it is bound', size('5Gi'), IMMUTABLE],
])

describeUpdateRules(
  persistentVolumeClaimKind,
  { ...claim(), spec: { ...claim().spec, storageClassName: undefined } as never },
  [['getting the default class later', spec({ storageClassName: 'fast' })]],
)

describe('PersistentVolumeClaim', () => {
  it('starts pending, with both data sources', () => {
    const draft = claim()
    draft.spec!.dataSource = { kind: 'PersistentVolumeClaim', name: 'a' }
    draft.status = { phase: 'Bound' }
    persistentVolumeClaimKind.defaults?.(draft)
    persistentVolumeClaimKind.prepareCreate?.(draft)
    expect(draft.status).toEqual({ phase: 'Pending' })
    expect(draft.spec).toMatchObject({
      volumeMode: 'Filesystem',
      dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'a' },
    })
  })

  it.each([
    [
      'bound',
      bound(),
      { Status: 'Bound', Volume: 'pv-1', Capacity: '1Gi', 'Access Modes': 'RWO,ROX', StorageClass: 'fast' },
    ],
    ['pending', claim(), { Status: '', Volume: '', Capacity: '', 'Access Modes': '' }],
  ])('columns of a %s claim', (_, object, expected) => {
    expect(cells(persistentVolumeClaimKind, object, 0)).toMatchObject(expected)
  })
})
