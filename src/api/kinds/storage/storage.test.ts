import { describe, expect, it } from 'vitest'
import type { CSIDriver, CSINode, StorageClass, VolumeAttachment } from '../../generated/storage-v1.ts'
import { cells, describeRules, describeUpdateRules } from '../core/rules.contract.ts'
import { csiDriverKind } from './csi-driver.ts'
import { csiNodeKind } from './csi-node.ts'
import { csiStorageCapacityKind } from './csi-storage-capacity.ts'
import { storageClassKind } from './storage-class.ts'
import { volumeAttachmentKind } from './volume-attachment.ts'
import { volumeAttributesClassKind } from './volume-attributes-class.ts'

const storageClass = (): StorageClass => ({
  metadata: { name: 'fast', creationTimestamp: '2026-01-01T00:00:00Z' },
  provisioner: 'example.com/disk',
  parameters: { type: 'ssd' },
})
const set =
  <T extends object>(change: Partial<T>) =>
  (draft: T) => {
    Object.assign(draft, change)
  }

describeRules(storageClassKind, storageClass(), [
  ['no provisioner', set<StorageClass>({ provisioner: '' }), 'provisioner: Required value'],
  [
    'a policy of its own',
    set<StorageClass>({ reclaimPolicy: 'Recycle' }),
    'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
  ],
  [
    'a mode of its own',
    set<StorageClass>({ volumeBindingMode: 'Later' }),
    'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
  ],
  [
    'a nameless parameter',
    set<StorageClass>({ parameters: { '': 'x' } }),
    'parameters: Invalid value: "": field can not be empty.',
  ],
  [
    'a topology without values',
    set<StorageClass>({ allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: [] }] }] }),
    'allowedTopologies[0].matchLabelExpressions[0].values: Required value',
  ],
])

describeUpdateRules(storageClassKind, storageClass(), [
  ['allowing growth', set<StorageClass>({ allowVolumeExpansion: true })],
  [
    'other parameters and provisioner',
    set<StorageClass>({ parameters: {}, provisioner: 'x' }),
    'parameters: Invalid value: {}: field is immutable',
    'provisioner: Invalid value: "x": field is immutable',
  ],
])

describe('StorageClass', () => {
  it('prints which one is the default', () => {
    const object = storageClass()
    object.metadata.annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
    storageClassKind.defaults?.(object)
    expect(cells(storageClassKind, object, Date.UTC(2026, 0, 1, 0, 1))).toEqual({
      Name: 'fast (default)',
      Provisioner: 'example.com/disk',
      ReclaimPolicy: 'Delete',
      VolumeBindingMode: 'Immediate',
      AllowVolumeExpansion: false,
      Age: '60s',
    })
  })
})

describeRules(
  volumeAttributesClassKind,
  { metadata: { name: 'a' }, driverName: 'csi.example.com', parameters: { iops: '1' } },
  [
    [
      'no parameters',
      (draft) => delete draft.parameters,
      'parameters: Required value: must contain at least one key/value pair',
    ],
    [
      'no driver',
      (draft) => {
        draft.driverName = ''
      },
      'driverName: Required value',
    ],
  ],
)

const attachment = (): VolumeAttachment => ({
  metadata: { name: 'a' },
  spec: { attacher: 'csi.example.com', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
})
describeRules(volumeAttachmentKind, attachment(), [
  [
    'no source',
    (draft) => {
      draft.spec.source = {}
    },
    'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
  ],
  [
    'two sources',
    (draft) => {
      draft.spec.source.inlineVolumeSpec = {}
    },
    'spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
  ],
  [
    'no driver',
    (draft) => {
      draft.spec.attacher = ''
    },
    'spec.attacher: Required value',
  ],
])
describeUpdateRules(volumeAttachmentKind, attachment(), [
  [
    'another node',
    (draft) => {
      draft.spec.nodeName = 'n2'
    },
    'spec: Invalid value: {"attacher":"csi.example.com","nodeName":"n2","source":{"persistentVolumeName":"pv-1"}}: field is immutable',
  ],
])

const driver = (): CSIDriver => ({ metadata: { name: 'csi.example.com', generation: 1 }, spec: {} })
describeRules(csiDriverKind, driver(), [
  [
    'unknown modes and policies',
    (draft) => {
      draft.spec = { volumeLifecycleModes: ['Once'], fsGroupPolicy: 'Any' }
    },
    'spec.fsGroupPolicy: Unsupported value: "Any": supported values: "File", "None", "ReadWriteOnceWithFSType"',
    'spec.volumeLifecycleModes: Unsupported value: "Once": supported values: "Persistent", "Ephemeral"',
  ],
  [
    'tokens that end too soon, for the same audience',
    (draft) => {
      draft.spec.tokenRequests = [{ audience: 'a', expirationSeconds: 60 }, { audience: 'a' }]
    },
    'spec.tokenRequests[0].expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes',
    'spec.tokenRequests[1].audience: Duplicate value: "a"',
  ],
])
describeUpdateRules(csiDriverKind, driver(), [
  [
    'attaching no more',
    (draft) => {
      draft.spec.attachRequired = false
    },
    'spec.attachedRequired: Invalid value: false: field is immutable',
  ],
])

describe('CSIDriver', () => {
  it('defaults and prints', () => {
    const object = driver()
    csiDriverKind.defaults?.(object)
    expect(cells(csiDriverKind, object, 0)).toMatchObject({
      AttachRequired: true,
      PodInfoOnMount: false,
      StorageCapacity: false,
      TokenRequests: '<unset>',
      RequiresRepublish: false,
      Modes: 'Persistent',
    })
  })
  it('raises its generation with its spec', () => {
    const changed = { ...driver(), spec: { requiresRepublish: true } }
    csiDriverKind.prepareUpdate?.(changed, driver())
    expect(changed.metadata.generation).toBe(2)
  })
})

const csiNode = (): CSINode => ({
  metadata: { name: 'n1' },
  spec: { drivers: [{ name: 'a.example.com', nodeID: '1', topologyKeys: ['zone'], allocatable: { count: 3 } }] },
})
describeRules(csiNodeKind, csiNode(), [
  [
    'the same driver twice, without node ID',
    (draft) => draft.spec.drivers.push({ name: 'a.example.com', nodeID: '' }),
    'spec.drivers[1].nodeID: Required value',
    'spec.drivers[1].name: Duplicate value: "a.example.com"',
  ],
])
describeUpdateRules(csiNodeKind, csiNode(), [
  [
    'more volumes',
    (draft) => {
      draft.spec.drivers[0]!.allocatable = { count: 5 }
    },
  ],
  [
    'another node ID',
    (draft) => {
      draft.spec.drivers[0]!.nodeID = '2'
    },
    'spec.drivers: Invalid value: {"name":"a.example.com","nodeID":"2","topologyKeys":["zone"],"allocatable":{"count":3}}: field is immutable',
  ],
])

describeRules(csiStorageCapacityKind, { metadata: { name: 'a' }, storageClassName: 'fast', capacity: '1024Mi' }, [
  [
    'less than nothing',
    (draft) => {
      draft.capacity = '-1'
    },
    'capacity: Invalid value: "-1": must be greater than or equal to 0',
  ],
])
