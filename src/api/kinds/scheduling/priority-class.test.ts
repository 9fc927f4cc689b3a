import type { PriorityClass } from '../../generated/scheduling-v1.ts'
import { describeRules, describeUpdateRules } from '../core/rules.contract.ts'
import { priorityClassKind } from './priority-class.ts'

const RESERVED =
  "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
const named =
  (name: string, value: number, globalDefault = false) =>
  (draft: PriorityClass) => {
    Object.assign(draft, { metadata: { name }, value, globalDefault })
  }

describeRules(priorityClassKind, { metadata: { name: 'high' }, value: 1_000_000_000 }, [
  ['a system class', named('system-node-critical', 2_000_001_000)],
  ['a made-up system class', named('system-mine', 1), `${RESERVED}system-mine is not a known system priority class`],
  [
    'a system class with another value',
    named('system-node-critical', 1),
    `${RESERVED}value of system-node-critical PriorityClass must be 2000001000`,
  ],
  [
    'a system class for everyone',
    named('system-cluster-critical', 2_000_000_000, true),
    `${RESERVED}globalDefault of system-cluster-critical PriorityClass must be false`,
  ],
  [
    'too high',
    named('high', 1_000_000_001),
    'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
  ],
  [
    'a policy of its own',
    (draft) => {
      draft.preemptionPolicy = 'Always'
    },
    'preemptionPolicy: Unsupported value: "Always": supported values: "Never", "PreemptLowerPriority"',
  ],
])

describeUpdateRules(priorityClassKind, { metadata: { name: 'high' }, value: 1 }, [
  [
    'another description',
    (draft) => {
      draft.description = 'x'
    },
  ],
  [
    'another value and policy',
    (draft) => {
      draft.value = 2
      draft.preemptionPolicy = 'Never'
    },
    'value: Forbidden: may not be changed in an update.',
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  ],
])
