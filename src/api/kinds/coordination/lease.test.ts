import { describeRules } from '../core/rules.contract.ts'
import { leaseKind } from './lease.ts'

describeRules(leaseKind, { metadata: { name: 'a' }, spec: { holderIdentity: 'me', leaseDurationSeconds: 15 } }, [
  ['no spec', (draft) => delete draft.spec],
  [
    'no duration, and fewer than no transitions',
    (draft) => {
      draft.spec = { leaseDurationSeconds: 0, leaseTransitions: -1 }
    },
    'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
    'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    'a preferred holder without strategy',
    (draft) => {
      draft.spec = { preferredHolder: 'me' }
    },
    'spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined',
  ],
  [
    'an unknown strategy',
    (draft) => {
      draft.spec = { strategy: 'Youngest' }
    },
    'spec.strategy: Unsupported value: "Youngest": supported values: "OldestEmulationVersion"',
  ],
])
