import { describe, expect, it } from 'vitest'
import type { ResourceClaim, ResourceSlice } from '../../generated/resource-v1.ts'
import type { StatusSubresource } from '../../kind.ts'
import { cells, describeRules, describeUpdateRules, shownErrors } from '../core/rules.contract.ts'
import { deviceClassKind } from './device-class.ts'
import { resourceClaimKind } from './resource-claim.ts'
import { resourceClaimTemplateKind } from './resource-claim-template.ts'
import { resourceSliceKind } from './resource-slice.ts'

const claim = (): ResourceClaim => ({
  metadata: { name: 'a' },
  spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }] } },
})
const requests = (list: unknown[]) => (draft: ResourceClaim) => {
  draft.spec.devices!.requests = list as never
}
const DEVICES = 'spec.devices'

describeRules(resourceClaimKind, claim(), [
  ['no spec', (draft) => Object.assign(draft, { spec: undefined })],
  [
    'a request for nothing',
    requests([{ name: '' }]),
    `${DEVICES}.requests[0].name: Required value`,
    `${DEVICES}.requests[0]: Required value: exactly one of \`exactly\` or \`firstAvailable\` is required`,
  ],
  [
    'a count that is not wanted, and none of what is',
    requests([
      { name: 'a', exactly: { deviceClassName: 'x', allocationMode: 'All', count: 2 } },
      { name: 'a', exactly: { deviceClassName: '', allocationMode: 'Some' } },
    ]),
    `${DEVICES}.requests[1]: Duplicate value: "a"`,
    `${DEVICES}.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'`,
    `${DEVICES}.requests[1].exactly.deviceClassName: Required value`,
    `${DEVICES}.requests[1].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"`,
  ],
  [
    'alternatives, and configuration for one of them',
    (draft) => {
      draft.spec.devices = {
        requests: [{ name: 'a', firstAvailable: [{ name: 'big', deviceClassName: 'x' }] }],
        config: [{ requests: ['a/big'], opaque: { driver: 'x.example.com', parameters: {} } }],
      }
    },
  ],
  [
    'configuration for no request',
    (draft) => {
      draft.spec.devices!.config = [{ requests: ['b'] }]
    },
    `${DEVICES}.config[0].requests[0]: Invalid value: "b": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'`,
    `${DEVICES}.config[0].opaque: Required value`,
  ],
  [
    'a constraint on nothing',
    (draft) => {
      draft.spec.devices!.constraints = [{ requests: ['gpu'] }]
    },
    `${DEVICES}.constraints[0].matchAttribute: Required value`,
  ],
])

describeUpdateRules(resourceClaimTemplateKind, { metadata: { name: 'a' }, spec: { spec: claim().spec } }, [
  [
    'another spec',
    (draft) => {
      draft.spec = { spec: {} }
    },
    'spec: Invalid value: {"spec":{}}: field is immutable',
  ],
])

describe('ResourceClaim', () => {
  const status = resourceClaimKind.subresources.status as StatusSubresource<ResourceClaim>
  const user = { resource: 'pods', name: 'web', uid: '1' }

  it('asks for one device unless it says otherwise', () => {
    const draft = claim()
    resourceClaimKind.defaults?.(draft)
    expect(draft.spec.devices?.requests?.[0]?.exactly).toEqual({
      deviceClassName: 'gpu.example.com',
      allocationMode: 'ExactCount',
      count: 1,
    })
  })

  it.each([
    [{ allocation: {}, reservedFor: [user] }, []],
    [{ reservedFor: [user] }, ['status.reservedFor: Forbidden: may not be specified when `allocated` is not set']],
    [{ allocation: {}, reservedFor: [{ ...user, uid: '' }] }, ['status.reservedFor[0].uid: Required value']],
  ])('status %j', (value, errors) => {
    expect(shownErrors(status.validateUpdate?.({ ...claim(), status: value }, claim()) ?? [])).toEqual(errors)
  })

  it.each([
    [{}, {}, 'pending'],
    [{}, { allocation: {} }, 'allocated'],
    [{}, { allocation: {}, reservedFor: [user] }, 'allocated,reserved'],
    [{ deletionTimestamp: '2026-01-01T00:00:00Z' }, { allocation: {} }, 'deleted,allocated'],
  ])('prints %j %j as %s', (metadata, value, expected) => {
    expect(cells(resourceClaimKind, { ...claim(), metadata, status: value }, 0)).toMatchObject({ State: expected })
  })
})

describeRules(deviceClassKind, { metadata: { name: 'a' }, spec: { selectors: [{ cel: { expression: 'true' } }] } }, [
  [
    'a selector that selects nothing',
    (draft) => {
      draft.spec.selectors = [{}]
    },
    'spec.selectors[0].cel: Required value',
  ],
])

const slice = (): ResourceSlice => ({
  metadata: { name: 'a' },
  spec: {
    driver: 'gpu.example.com',
    nodeName: 'n1',
    pool: { name: 'n1', generation: 1, resourceSliceCount: 1 },
    devices: [{ name: 'gpu-0' }],
  },
})
describeRules(resourceSliceKind, slice(), [
  [
    'nowhere',
    (draft) => delete draft.spec.nodeName,
    'spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required',
  ],
  [
    'on one node and on all',
    (draft) => {
      draft.spec.allNodes = true
    },
    'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set',
  ],
  [
    'an empty pool, the same device twice',
    (draft) => {
      draft.spec.pool.resourceSliceCount = 0
      draft.spec.devices!.push({ name: 'gpu-0' })
    },
    'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
    'spec.devices[1]: Duplicate value: "gpu-0"',
  ],
])
describeUpdateRules(resourceSliceKind, slice(), [
  [
    'another node',
    (draft) => {
      draft.spec.nodeName = 'n2'
    },
    'spec.nodeName: Invalid value: "n2": field is immutable',
  ],
])
