import type { PodSpec, TopologySpreadConstraint } from '../../../api/generated/core-v1.ts'
import { compileLabelSelector, matchesLabels, type Selector } from '../../../api/meta/label-selector.ts'
import { selectorText } from '../../cache/affinity-term.ts'
import type { ClusterState } from '../../cache/cluster-state.ts'
import { requiredNodes } from '../../cache/node-selection.ts'
import type { PodCounter } from '../../cache/pod-counter.ts'
import { selectorKeys } from '../../cache/pod-counts.ts'
import type { PodFacts } from '../../cache/pod-facts.ts'
import { hasUntoleratedTaint } from '../../cache/tolerations.ts'
import { HOSTNAME_KEY, NODE_NAME_KEY, type Topology, ZONE_KEY } from '../../cache/topology.ts'

/** One constraint with the pods it counts. */
export interface SpreadConstraint {
  readonly topology: Topology
  readonly isHostname: boolean
  readonly maxSkew: number
  readonly minDomains: number
  /** 1 if the pod itself counts. */
  readonly self: number
  readonly counter: PodCounter
}

export interface SpreadConstraints {
  readonly hard: readonly SpreadConstraint[]
  readonly soft: readonly SpreadConstraint[]
  /** Nodes that lack one of the keys are left out of the scores. */
  readonly requiresAllKeys: boolean
}

/** What a cluster does for pods that say nothing, if they belong together by a service or a controller. */
export const SYSTEM_DEFAULTS: readonly TopologySpreadConstraint[] = [
  { topologyKey: HOSTNAME_KEY, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: ZONE_KEY, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
]

export interface DefaultSpread {
  readonly constraints: readonly TopologySpreadConstraint[]
  readonly isSystem: boolean
  /** Pods that belong together with this one. */
  readonly selector: Selector
}

export function spreadConstraints(
  pod: PodFacts,
  cluster: ClusterState,
  defaults: DefaultSpread | undefined,
): SpreadConstraints {
  const own = pod.pod.spec?.topologySpreadConstraints ?? []
  const usesDefaults = own.length === 0 && defaults !== undefined
  const all = usesDefaults ? defaults.constraints : own
  const selectorFor = (constraint: TopologySpreadConstraint) =>
    usesDefaults ? defaults.selector : compileLabelSelector(constraint.labelSelector)
  const requiresAllKeys = own.length > 0 || !defaults?.isSystem
  const of = (action: string) => {
    const some = all.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    const keys = action === 'DoNotSchedule' || requiresAllKeys ? some.map(({ topologyKey }) => topologyKey) : []
    return some.map((one) => compile(pod, cluster, one, selectorFor(one), action === 'DoNotSchedule', keys))
  }
  return { hard: of('DoNotSchedule'), soft: of('ScheduleAnyway'), requiresAllKeys }
}

function compile(
  pod: PodFacts,
  cluster: ClusterState,
  constraint: TopologySpreadConstraint,
  selector: Selector,
  isHard: boolean,
  keys: readonly string[],
): SpreadConstraint {
  const { topologyKey, maxSkew, minDomains = 1 } = constraint
  const isHostname = topologyKey === HOSTNAME_KEY
  for (const key of selectorKeys(selector)) cluster.counts.labelKeys.add(key)
  // Scores count the pods of each single node, whatever its hostname label says.
  const perNode = isHostname && !isHard
  const topology = cluster.topology(perNode ? NODE_NAME_KEY : topologyKey)
  const inclusion = perNode ? undefined : nodeInclusion(pod, cluster, constraint, keys)
  const counter = cluster.counter({
    signature: `spread|${topology.key}|${pod.namespace}|${selectorText(selector)}|${inclusion?.signature ?? ''}`,
    topology,
    countOf: ({ namespace, labels }) => (namespace === pod.namespace && matchesLabels(selector, labels) ? 1 : 0),
    ...(inclusion && { includes: inclusion.includes, inclusion: inclusion.signature }),
    countsTerminating: false,
  })
  const self = matchesLabels(selector, pod.pod.metadata.labels) ? 1 : 0
  return { topology: cluster.topology(topologyKey), isHostname, maxSkew, minDomains, self, counter }
}

/** Which nodes are domains at all (KEP-3094): by default those that the pod's node affinity allows. */
function nodeInclusion(
  pod: PodFacts,
  { columns }: ClusterState,
  { nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' }: TopologySpreadConstraint,
  keys: readonly string[],
) {
  const spec = pod.pod.spec!
  const isWanted = nodeAffinityPolicy === 'Honor' ? requiredNodes(spec) : undefined
  const tolerations = nodeTaintsPolicy === 'Honor' ? (spec.tolerations ?? []) : undefined
  if (!isWanted && !tolerations && keys.length === 0) return undefined
  return {
    signature: JSON.stringify([isWanted ? affinityText(spec) : '', tolerations, keys]),
    includes(node: number): boolean {
      const object = columns.nodes[node]!
      const labels = object.metadata.labels ?? {}
      for (const key of keys) if (!Object.hasOwn(labels, key)) return false
      if (isWanted && !isWanted(object)) return false
      return !tolerations || !hasUntoleratedTaint(columns.taints[node]!, tolerations)
    },
  }
}

const affinityText = (spec: PodSpec) =>
  JSON.stringify([spec.nodeSelector, spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution])
