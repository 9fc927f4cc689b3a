import { describe, expect, it } from 'vitest'
import type { ResourceQuota } from '../../generated/core-v1.ts'
import { resourceQuotaKind } from './resource-quota.ts'
import { cells, describeRules, describeUpdateRules } from './rules.contract.ts'

const quota = (): ResourceQuota => ({
  metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { hard: { pods: '10', 'requests.cpu': '2', 'count/deployments.apps': '3', 'requests.example.com/gpu': '1' } },
})
const EXISTS_ONLY =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"

describeRules(resourceQuotaKind, quota(), [
  ['no spec', (draft) => delete draft.spec],
  [
    'an unknown resource',
    (draft) => {
      draft.spec = { hard: { stars: '1' } }
    },
    'spec.hard[stars]: Invalid value: "stars": must be a standard resource type or fully qualified',
    'spec.hard[stars]: Invalid value: "stars": must be a standard resource for quota',
  ],
  [
    'half a pod, and less than nothing',
    (draft) => {
      draft.spec = { hard: { pods: '500m', cpu: '-1' } }
    },
    'spec.hard[pods]: Invalid value: "500m": must be an integer',
    'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ],
  [
    'a scope that does not fit',
    (draft) => {
      draft.spec = { hard: { cpu: '1' }, scopes: ['BestEffort'] }
    },
    'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
  ],
  [
    'scopes that exclude each other',
    (draft) => {
      draft.spec = { hard: { pods: '1' }, scopes: ['BestEffort', 'NotBestEffort'] }
    },
    'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
  ],
  [
    'an unknown scope',
    (draft) => {
      draft.spec = { hard: { pods: '1' }, scopes: ['Best'] }
    },
    'spec.scopes: Invalid value: ["Best"]: unsupported scope',
  ],
  [
    'a scope selector',
    (draft) => {
      draft.spec!.hard = { pods: '1' }
      draft.spec!.scopeSelector = {
        matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }],
      }
    },
  ],
  [
    'scope selectors with wrong operators and values',
    (draft) => {
      draft.spec!.hard = { pods: '1' }
      draft.spec!.scopeSelector = {
        matchExpressions: [
          { scopeName: 'PriorityClass', operator: 'In' },
          { scopeName: 'Terminating', operator: 'DoesNotExist' },
          { scopeName: 'PriorityClass', operator: 'Like' },
        ],
      }
    },
    "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
    `spec.scopeSelector.matchExpressions.operator: Invalid value: "DoesNotExist": ${EXISTS_ONLY}`,
    'spec.scopeSelector.matchExpressions.operator: Invalid value: "Like": not a valid selector operator',
  ],
])

describeUpdateRules(resourceQuotaKind, quota(), [
  [
    'another amount',
    (draft) => {
      draft.spec!.hard!.pods = '20'
    },
  ],
  [
    'other scopes',
    (draft) => {
      draft.spec!.scopes = ['NotBestEffort']
    },
    'spec.scopes: Invalid value: ["NotBestEffort"]: field is immutable',
  ],
])

describe('ResourceQuota columns', () => {
  it('shows requests and limits apart', () => {
    const status = {
      hard: { pods: '10', 'limits.cpu': '2', cpu: '1' },
      used: { pods: '3', 'limits.cpu': '1500m' },
    }
    expect(cells(resourceQuotaKind, { ...quota(), status }, Date.UTC(2026, 0, 1, 0, 5))).toEqual({
      Name: 'a',
      Request: 'cpu: 0/1, pods: 3/10',
      Limit: 'limits.cpu: 1500m/2',
      Age: '5m',
    })
  })
})
