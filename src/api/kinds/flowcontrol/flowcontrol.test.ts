import { describe, expect, it } from 'vitest'
import type { FlowSchema, PriorityLevelConfiguration } from '../../generated/flowcontrol-v1.ts'
import { cells, describeRules } from '../core/rules.contract.ts'
import { flowSchemaKind } from './flow-schema.ts'
import { mandatoryFlowSchemas, mandatoryPriorityLevels } from './mandatory.ts'
import { priorityLevelConfigurationKind } from './priority-level-configuration.ts'

const schema = (): FlowSchema => ({
  metadata: { name: 'a' },
  spec: {
    priorityLevelConfiguration: { name: 'global-default' },
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: 'ann' } }],
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['pods'], namespaces: ['shop'] }],
      },
    ],
  },
})
const rule = (draft: FlowSchema) => draft.spec!.rules![0]!

describeRules(flowSchemaKind, schema(), [
  [
    'no spec',
    (draft) => delete draft.spec,
    'spec.matchingPrecedence: Invalid value: 0: must be a positive value',
    'spec.priorityLevelConfiguration.name: Required value: must reference a priority level',
  ],
  [
    'the mandatory ones',
    (draft) => Object.assign(draft, { metadata: { name: 'exempt' }, spec: mandatoryFlowSchemas.exempt }),
  ],
  [
    'the exempt precedence',
    (draft) => {
      draft.spec!.matchingPrecedence = 1
    },
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
  ],
  [
    'beyond the last precedence',
    (draft) => {
      draft.spec!.matchingPrecedence = 10001
    },
    'spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000',
  ],
  [
    'a rule for nobody about nothing',
    (draft) => {
      draft.spec!.rules = [{ subjects: [] }]
    },
    'spec.rules[0].subjects: Required value: subjects must contain at least one value',
    'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
  ],
  [
    'a subject with the wrong field',
    (draft) => {
      rule(draft).subjects = [{ kind: 'User', group: { name: 'a' } }]
    },
    "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
    "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
  ],
  [
    'a wildcard among others',
    (draft) => {
      rule(draft).resourceRules![0]!.verbs = ['*', 'get']
    },
    'spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: if \'*\' is present, must not specify other verbs',
  ],
  [
    'no namespace',
    (draft) => {
      delete rule(draft).resourceRules![0]!.namespaces
    },
    'spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace',
  ],
  [
    'odd URLs',
    (draft) => {
      rule(draft).nonResourceRules = [{ verbs: ['get'], nonResourceURLs: ['healthz', '/a//b', '/*/a', '/a/*'] }]
    },
    'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "healthz": must start with slash',
    'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a//b": must not contain double slash',
    'spec.rules[0].nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/*/a": wildcard can only do suffix matching',
  ],
])

const level = (): PriorityLevelConfiguration => ({
  metadata: { name: 'a' },
  spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
})
const queuing = (change: object) => (draft: PriorityLevelConfiguration) => {
  draft.spec!.limited!.limitResponse!.queuing = change
}
const QUEUING = 'spec.limited.limitResponse.queuing'

describeRules(priorityLevelConfigurationKind, level(), [
  [
    'the mandatory exempt level, changed where that is allowed',
    (draft) =>
      Object.assign(draft, {
        metadata: { name: 'exempt' },
        spec: { ...mandatoryPriorityLevels.exempt, exempt: { lendablePercent: 50 } },
      }),
  ],
  [
    'another catch-all',
    (draft) => {
      draft.metadata.name = 'catch-all'
      draft.spec = { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } }
    },
    'spec: Invalid value: {"type":"Limited","limited":{"limitResponse":{"type":"Reject"},"nominalConcurrencyShares":30,"lendablePercent":0}}: spec of \'catch-all\' must equal the fixed value',
  ],
  [
    'exempt under another name',
    (draft) => {
      draft.spec = { type: 'Exempt' }
    },
    "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
  ],
  [
    'no limits',
    (draft) => {
      draft.spec = { type: 'Limited' }
    },
    'spec.limited: Required value: must not be empty when type is Limited',
  ],
  [
    'shares and percents out of range',
    (draft) =>
      Object.assign(draft.spec!.limited!, {
        nominalConcurrencyShares: -1,
        lendablePercent: 101,
        borrowingLimitPercent: -1,
      }),
    'spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer',
    'spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
    'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
  ],
  [
    'a hand larger than the deck',
    queuing({ queues: 4 }),
    `${QUEUING}.handSize: Invalid value: 8: should not be greater than queues (4)`,
  ],
  [
    'a hand that takes too much randomness',
    queuing({ queues: 1024, handSize: 7 }),
    `${QUEUING}.handSize: Invalid value: 7: required entropy bits of deckSize 1024 and handSize 7 should not be greater than 60`,
  ],
])

describe('flow control columns', () => {
  it('of a schema and its level', () => {
    const object = level()
    priorityLevelConfigurationKind.defaults?.(object)
    expect(cells(priorityLevelConfigurationKind, object, 0)).toMatchObject({
      Type: 'Limited',
      NominalConcurrencyShares: 30,
      Queues: 64,
      HandSize: 8,
      QueueLengthLimit: 50,
    })
    expect(cells(flowSchemaKind, schema(), 0)).toMatchObject({
      PriorityLevel: 'global-default',
      DistinguisherMethod: '<none>',
      MissingPL: '?',
    })
  })
})
