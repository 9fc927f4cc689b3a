import { describe, expect, it } from 'vitest'
import type { LimitRange, LimitRangeItem } from '../../generated/core-v1.ts'
import { limitRangeKind } from './limit-range.ts'
import { describeRules, type RuleRow } from './rules.contract.ts'

const range = (...limits: LimitRangeItem[]): LimitRange => ({ metadata: { name: 'a' }, spec: { limits } })
const items = (what: string, limits: LimitRangeItem[], ...errors: string[]): RuleRow<LimitRange> => [
  what,
  (draft) => {
    draft.spec = { limits }
  },
  ...errors,
]

describeRules(limitRangeKind, range({ type: 'Container', max: { cpu: '2' }, min: { cpu: '100m' } }), [
  ['no spec', (draft) => delete draft.spec],
  items('the same type twice', [{ type: 'Pod' }, { type: 'Pod' }], 'spec.limits[1].type: Duplicate value: "Pod"'),
  items('a type of someone else', [{ type: 'example.com/x' }]),
  items(
    'an unknown type',
    [{ type: 'Node' }],
    'spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified',
  ),
  items(
    'defaults for pods',
    [{ type: 'Pod', default: { cpu: '1' } }],
    "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
  ),
  items(
    'a resource that containers do not have',
    [{ type: 'Container', max: { storage: '1' } }],
    'spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers',
    'spec.limits[0].default[storage]: Invalid value: "storage": must be a standard resource for containers',
    'spec.limits[0].defaultRequest[storage]: Invalid value: "storage": must be a standard resource for containers',
  ),
  items(
    'a claim limit without storage',
    [{ type: 'PersistentVolumeClaim', max: {} }],
    'spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided',
  ),
  items(
    'more at least than at most',
    [{ type: 'Pod', min: { cpu: '3' }, max: { cpu: '2' } }],
    'spec.limits[0].min[cpu]: Invalid value: "3": min value 3 is greater than max value 2',
  ),
  items(
    'a default below the minimum',
    [{ type: 'Container', min: { cpu: '2' }, max: { cpu: '3' }, default: { cpu: '1' }, defaultRequest: { cpu: '2' } }],
    'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1',
    'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
  ),
  items(
    'a ratio below one',
    [{ type: 'Pod', maxLimitRequestRatio: { cpu: '500m' } }],
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
  ),
  items(
    'a ratio that can never be reached',
    [{ type: 'Pod', min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '4' } }],
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is greater than max/min = 2.000000',
  ),
  items(
    'overcommitted huge pages',
    [{ type: 'Container', default: { 'hugepages-2Mi': '4Mi' }, defaultRequest: { 'hugepages-2Mi': '2Mi' } }],
    'spec.limits[0].defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi',
  ),
])

describe('LimitRange defaults', () => {
  it('fills container defaults from max, then from min', () => {
    const object = range({ type: 'Container', max: { cpu: '2' }, min: { cpu: '1', memory: '1024Mi' } })
    limitRangeKind.defaults?.(object)
    expect(object.spec?.limits[0]).toEqual({
      type: 'Container',
      max: { cpu: '2' },
      min: { cpu: '1', memory: '1Gi' },
      default: { cpu: '2' },
      defaultRequest: { cpu: '2', memory: '1Gi' },
    })
  })
})
