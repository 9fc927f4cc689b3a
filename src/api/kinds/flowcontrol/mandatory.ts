import type {
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfigurationSpec,
} from '../../generated/flowcontrol-v1.ts'

/** Flow control cannot work without these objects, so nobody may change what they say. */

const everythingFrom = (...groups: string[]): PolicyRulesWithSubjects => ({
  subjects: groups.map((name) => ({ kind: 'Group', group: { name } })),
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
})

export const mandatoryFlowSchemas: Readonly<Record<string, FlowSchemaSpec>> = {
  exempt: {
    priorityLevelConfiguration: { name: 'exempt' },
    matchingPrecedence: 1,
    rules: [everythingFrom('system:masters')],
  },
  'catch-all': {
    priorityLevelConfiguration: { name: 'catch-all' },
    matchingPrecedence: 10_000,
    distinguisherMethod: { type: 'ByUser' },
    rules: [everythingFrom('system:unauthenticated', 'system:authenticated')],
  },
}

export const mandatoryPriorityLevels: Readonly<Record<string, PriorityLevelConfigurationSpec>> = {
  exempt: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  'catch-all': {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
  },
}
