import { describe, expect, it } from 'vitest'
import type { Node } from '../../../generated/core-v1.ts'
import { cells, describeRules, describeUpdateRules } from '../rules.contract.ts'
import { nodeKind } from './kind.ts'

const node = (): Node => ({
  metadata: { name: 'worker', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { podCIDR: '10.0.1.0/24', providerID: 'x://1', taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] },
  status: { capacity: { cpu: '4', memory: '16384Mi' }, addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
})

describeRules(nodeKind, node(), [
  ['no spec and no status', (draft) => Object.assign(draft, { spec: undefined, status: undefined })],
  [
    'a taint without effect',
    (draft) => {
      draft.spec!.taints = [{ key: 'a', effect: '' }]
    },
    'metadata.taints[0].effect: Required value',
  ],
  [
    'a taint with an unknown effect',
    (draft) => {
      draft.spec!.taints = [{ key: 'a', effect: 'Never' }]
    },
    'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
  ],
  [
    'the same taint twice',
    (draft) => {
      draft.spec!.taints = [
        { key: 'a', effect: 'NoExecute' },
        { key: 'a', effect: 'NoExecute', value: 'x' },
      ]
    },
    'metadata.taints[1]: Duplicate value: {"key":"a","effect":"NoExecute","value":"x"}: taints must be unique by key and effect pair',
  ],
  [
    'a CIDR for each family',
    (draft) => {
      draft.spec!.podCIDRs = ['10.0.1.0/24', 'fd00:1::/64']
    },
  ],
  [
    'two CIDRs of one family',
    (draft) => {
      draft.spec!.podCIDRs = ['10.0.1.0/24', '10.0.2.0/24']
    },
    'spec.podCIDRs: Invalid value: ["10.0.1.0/24","10.0.2.0/24"]: may specify no more than one CIDR for each IP family',
  ],
  [
    'no CIDR',
    (draft) => {
      draft.spec!.podCIDR = 'x'
    },
    'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
  ],
  [
    'negative capacity',
    (draft) => {
      draft.status = { capacity: { cpu: '-1' } }
    },
    'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
    'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
  ],
])

describeUpdateRules(nodeKind, node(), [
  [
    'cordoning',
    (draft) => {
      draft.spec!.unschedulable = true
    },
  ],
  [
    'another pod CIDR',
    (draft) => {
      draft.spec!.podCIDR = '10.0.9.0/24'
    },
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
  ],
  [
    'another provider',
    (draft) => {
      draft.spec!.providerID = 'y://1'
    },
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ],
])

describe('Node defaults', () => {
  it('allocates the capacity and lists its one CIDR', () => {
    const draft = node()
    nodeKind.defaults?.(draft)
    expect(draft.status?.allocatable).toEqual({ cpu: '4', memory: '16Gi' })
    expect(draft.spec?.podCIDRs).toEqual(['10.0.1.0/24'])
  })
})

describe('Node columns', () => {
  const now = Date.UTC(2026, 0, 1, 1, 30)
  it('of a new node', () => {
    expect(cells(nodeKind, { metadata: { name: 'a' } }, now)).toEqual({
      Name: 'a',
      Status: 'Unknown',
      Roles: '<none>',
      Age: '<unknown>',
      Version: '',
      'Internal-IP': '<none>',
      'External-IP': '<none>',
      'OS-Image': '<unknown>',
      'Kernel-Version': '<unknown>',
      'Container-Runtime': '<unknown>',
    })
  })
  it('of a cordoned control plane', () => {
    const object = node()
    object.metadata.labels = { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/role': 'edge' }
    object.spec!.unschedulable = true
    object.status!.conditions = [{ type: 'Ready', status: 'False' }]
    object.status!.nodeInfo = { kubeletVersion: 'v1.36.0', kernelVersion: '6.1', architecture: 'arm64' } as never
    expect(cells(nodeKind, object, now)).toMatchObject({
      Status: 'NotReady,SchedulingDisabled',
      Roles: 'control-plane,edge',
      Age: '90m',
      Version: 'v1.36.0',
      'Internal-IP': '10.0.0.1',
      'Kernel-Version': '6.1 (arm64)',
    })
  })
})
