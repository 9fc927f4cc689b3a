import type {
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfigurationSpec,
  ResourcePolicyRule,
  Subject,
} from '../../api/generated/flowcontrol-v1.ts'
import { mandatoryFlowSchemas, mandatoryPriorityLevels } from '../../api/kinds/flowcontrol/mandatory.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'

/** The objects of every cluster. The mandatory ones cannot be changed; the suggested ones can. */

const limited = (shares: number, lendablePercent: number, queues: number, handSize: number) => ({
  type: 'Limited',
  limited: {
    nominalConcurrencyShares: shares,
    lendablePercent,
    limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: 50 } },
  },
})

export const bootstrapLevels: Readonly<Record<string, PriorityLevelConfigurationSpec>> = {
  ...mandatoryPriorityLevels,
  system: limited(30, 33, 64, 6),
  'node-high': limited(40, 25, 64, 6),
  'leader-election': limited(10, 0, 16, 4),
  'workload-high': limited(40, 50, 128, 6),
  'workload-low': limited(100, 90, 128, 6),
  'global-default': limited(20, 50, 128, 6),
}

const groups = (...names: string[]): Subject[] => names.map((name) => ({ kind: 'Group', group: { name } }))
const users = (...names: string[]): Subject[] => names.map((name) => ({ kind: 'User', user: { name } }))
const account = (namespace: string, name: string): Subject => ({
  kind: 'ServiceAccount',
  serviceAccount: { namespace, name },
})

const everything: ResourcePolicyRule = {
  verbs: ['*'],
  apiGroups: ['*'],
  resources: ['*'],
  clusterScope: true,
  namespaces: ['*'],
}
const leases = (...verbs: string[]): ResourcePolicyRule => ({
  verbs,
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  namespaces: ['*'],
})

const anything = (subjects: Subject[]): PolicyRulesWithSubjects => ({
  subjects,
  resourceRules: [everything],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
})

const schema = (
  level: string,
  matchingPrecedence: number,
  method: 'ByUser' | 'ByNamespace' | undefined,
  ...rules: PolicyRulesWithSubjects[]
): FlowSchemaSpec => ({
  priorityLevelConfiguration: { name: level },
  matchingPrecedence,
  ...(method && { distinguisherMethod: { type: method } }),
  rules,
})

const EVERYBODY = ['system:unauthenticated', 'system:authenticated']
const CONTROLLER_MANAGER = 'system:kube-controller-manager'
const SCHEDULER = 'system:kube-scheduler'

export const bootstrapSchemas: Readonly<Record<string, FlowSchemaSpec>> = {
  ...mandatoryFlowSchemas,
  probes: schema('exempt', 2, undefined, {
    subjects: groups(...EVERYBODY),
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
  }),
  'system-leader-election': schema('leader-election', 100, 'ByUser', {
    subjects: users(CONTROLLER_MANAGER, SCHEDULER),
    resourceRules: [leases('get', 'create', 'update')],
  }),
  'endpoint-controller': schema('workload-high', 150, 'ByUser', {
    subjects: [
      ...users(CONTROLLER_MANAGER),
      account(NAMESPACE.system, 'endpoint-controller'),
      account(NAMESPACE.system, 'endpointslicemirroring-controller'),
    ],
    resourceRules: [
      { verbs: ['get', 'create', 'update'], apiGroups: [''], resources: ['endpoints'], namespaces: ['*'] },
    ],
  }),
  'workload-leader-election': schema('leader-election', 200, 'ByUser', {
    subjects: [account(NAMESPACE.system, '*')],
    resourceRules: [leases('get', 'create', 'update')],
  }),
  'system-node-high': schema('node-high', 400, 'ByUser', {
    subjects: groups('system:nodes'),
    resourceRules: [
      { verbs: ['*'], apiGroups: [''], resources: ['nodes', 'nodes/status'], clusterScope: true, namespaces: ['*'] },
      leases('*'),
    ],
  }),
  'system-nodes': schema('system', 500, 'ByUser', anything(groups('system:nodes'))),
  'kube-controller-manager': schema('workload-high', 800, 'ByNamespace', anything(users(CONTROLLER_MANAGER))),
  'kube-scheduler': schema('workload-high', 800, 'ByNamespace', anything(users(SCHEDULER))),
  'kube-system-service-accounts': schema(
    'workload-high',
    900,
    'ByNamespace',
    anything([account(NAMESPACE.system, '*')]),
  ),
  'service-accounts': schema('workload-low', 9000, 'ByUser', anything(groups('system:serviceaccounts'))),
  'global-default': schema('global-default', 9900, 'ByUser', anything(groups(...EVERYBODY))),
}
