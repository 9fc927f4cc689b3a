import { describe, expect, it } from 'vitest'
import type { PersistentVolume } from '../../../generated/core-v1.ts'
import { cells, describeRules, describeUpdateRules } from '../rules.contract.ts'
import { persistentVolumeKind } from './kind.ts'

const volume = (): PersistentVolume => ({
  metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1024Mi' }, hostPath: { path: '/tmp' } },
})
const spec = (change: Partial<NonNullable<PersistentVolume['spec']>>) => (draft: PersistentVolume) => {
  draft.spec = { ...draft.spec, ...change }
}
const affinity = {
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }] },
}

describeRules(persistentVolumeKind, volume(), [
  [
    'no spec',
    (draft) => delete draft.spec,
    'spec.accessModes: Required value',
    'spec.capacity: Required value',
    'spec.capacity: Unsupported value: {}: supported values: "storage"',
    'spec: Required value: must specify a volume type',
  ],
  [
    'an unknown access mode',
    spec({ accessModes: ['Often'] }),
    'spec.accessModes: Unsupported value: "Often": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
  ],
  [
    'one pod only, and many',
    spec({ accessModes: ['ReadWriteOncePod', 'ReadWriteMany'] }),
    'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
  ],
  [
    'no bytes',
    spec({ capacity: { storage: '0' } }),
    'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
  ],
  [
    'a reclaim policy of its own',
    spec({ persistentVolumeReclaimPolicy: 'Burn' }),
    'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Recycle", "Retain"',
  ],
  [
    'two sources',
    spec({ nfs: { server: 'a', path: '/' } }),
    'spec.nfs: Forbidden: may not specify more than 1 volume type',
  ],
  [
    'a path with steps back',
    spec({ hostPath: { path: '/a/..' } }),
    'spec.hostPath.path: Invalid value: "/a/..": must not contain \'..\'',
  ],
  [
    'a relative NFS path',
    (draft) => {
      draft.spec!.nfs = { server: '', path: 'a' }
      delete draft.spec!.hostPath
    },
    'spec.nfs.server: Required value',
    'spec.nfs.path: Invalid value: "a": must be an absolute path',
  ],
  [
    'a local volume anywhere',
    (draft) => {
      draft.spec!.local = { path: '/a' }
      delete draft.spec!.hostPath
    },
    'spec.nodeAffinity: Required value: Local volume requires node affinity',
  ],
  [
    'a local volume on its node',
    (draft) => {
      draft.spec!.local = { path: '/a' }
      draft.spec!.nodeAffinity = affinity
      delete draft.spec!.hostPath
    },
  ],
  [
    'a CSI volume without handle',
    (draft) => {
      draft.spec!.csi = { driver: 'csi.example.com', volumeHandle: '', nodeStageSecretRef: { name: 'a' } }
      delete draft.spec!.hostPath
    },
    'spec.csi.volumeHandle: Required value',
    'spec.csi.nodeStageSecretRef.namespace: Required value',
  ],
  [
    'recycling the root',
    spec({ hostPath: { path: '/./' }, persistentVolumeReclaimPolicy: 'Recycle' }),
    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
  ],
  [
    'an attributes class without CSI',
    spec({ volumeAttributesClassName: 'gold' }),
    'spec.csi: Required value: has to be specified when using volumeAttributesClassName',
  ],
  [
    'a volume mode of its own',
    spec({ volumeMode: 'Tape' }),
    'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
  ],
  [
    'affinity to nothing',
    spec({ nodeAffinity: { required: { nodeSelectorTerms: [] } } }),
    'spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term',
  ],
])

describeUpdateRules(persistentVolumeKind, { ...volume(), spec: { ...volume().spec, nodeAffinity: affinity } }, [
  ['growing', spec({ capacity: { storage: '2Gi' } })],
  ['another policy', spec({ persistentVolumeReclaimPolicy: 'Delete' })],
  [
    'another source',
    spec({ hostPath: { path: '/other' } }),
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
  ],
  ['another mode', spec({ volumeMode: 'Block' }), 'volumeMode: Invalid value: "Block": field is immutable'],
  [
    'no affinity any more',
    (draft) => delete draft.spec!.nodeAffinity,
    'nodeAffinity: Invalid value: null: field is immutable, except for updating from beta label to GA',
  ],
])

describe('PersistentVolume columns', () => {
  it('of a bound volume', () => {
    const object = volume()
    object.spec!.claimRef = { namespace: 'shop', name: 'data' }
    object.spec!.storageClassName = 'fast'
    object.status = { phase: 'Bound' }
    persistentVolumeKind.defaults?.(object)
    expect(cells(persistentVolumeKind, object, Date.UTC(2026, 0, 3))).toEqual({
      Name: 'a',
      Capacity: '1Gi',
      'Access Modes': 'RWO',
      'Reclaim Policy': 'Retain',
      Status: 'Bound',
      Claim: 'shop/data',
      StorageClass: 'fast',
      VolumeAttributesClass: '<unset>',
      Reason: '',
      Age: '2d',
      VolumeMode: 'Filesystem',
    })
  })
})

describe('PersistentVolume warnings', () => {
  it('tells what is deprecated', () => {
    const object = volume()
    object.metadata.annotations = { 'volume.beta.kubernetes.io/storage-class': 'x' }
    object.spec!.persistentVolumeReclaimPolicy = 'Recycle'
    object.spec!.glusterfs = { endpoints: 'a', path: 'b' }
    expect(persistentVolumeKind.warnings?.(object, undefined)).toEqual([
      'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
      'spec.glusterfs: deprecated in v1.25, non-functional in v1.26+',
    ])
  })
})
