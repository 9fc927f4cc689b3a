import { type AffinityTerm, termMatches } from '../../cache/affinity-term.ts'
import type { ClusterState } from '../../cache/cluster-state.ts'
import type { PodCounter } from '../../cache/pod-counter.ts'
import { selectorKeys } from '../../cache/pod-counts.ts'
import type { PodFacts } from '../../cache/pod-facts.ts'
import { HOSTNAME_KEY } from '../../cache/topology.ts'
import { type ClassRules, MAX_SCORE, type Rejection, type SchedulerPlugin } from '../../plugin.ts'

const rejection = (reason: string, resolvable: boolean): Rejection => ({
  plugin: 'InterPodAffinity',
  reasons: [reason],
  resolvable,
})
const NO_AFFINITY = rejection("node(s) didn't match pod affinity rules", false)
const OWN_ANTI_AFFINITY = rejection("node(s) didn't match pod anti-affinity rules", true)
const OTHERS_ANTI_AFFINITY = rejection("node(s) didn't satisfy existing pods anti-affinity rules", true)

/** How much a pod's required affinity for another attracts that other. */
const HARD_POD_AFFINITY_WEIGHT = 1

interface WeightedCounter {
  readonly counter: PodCounter
  readonly weight: number
}

/** What the pod's own terms and those of the pods on nodes mean for a class. */
interface Terms {
  readonly affinity: readonly PodCounter[]
  /** Whether the pod would satisfy its own affinity: the first of its kind must go somewhere. */
  readonly isSelfAffine: boolean
  readonly antiAffinity: readonly PodCounter[]
  readonly others: readonly PodCounter[]
  readonly preferred: readonly WeightedCounter[]
}

/** Pods that want to be near others or away from them. */
export const interPodAffinity: SchedulerPlugin = {
  name: 'InterPodAffinity',
  retryOn: ['NodeAdd', 'NodeUpdate', 'PodAdd', 'PodDelete', 'PodUpdate', 'PodLabelUpdate', 'NamespaceUpdate'],
  forClass(pod, cluster, args) {
    const hardWeight = (args.hardPodAffinityWeight as number | undefined) ?? HARD_POD_AFFINITY_WEIGHT
    const terms = termsOf(pod, cluster, hardWeight)
    const { affinity, antiAffinity, others, preferred } = terms
    const filters = affinity.length + antiAffinity.length + others.length > 0
    if (!filters && preferred.length === 0) return undefined
    const counters = [...affinity, ...antiAffinity, ...others, ...preferred.map(({ counter }) => counter)]
    return {
      ...grouping(counters, terms),
      ...(filters && filtering(terms)),
      ...(preferred.length > 0 && scoring(preferred)),
      release() {
        for (const counter of counters) if (!others.includes(counter)) cluster.counts.release(counter)
      },
    }
  },
}

function termsOf(pod: PodFacts, cluster: ClusterState, hardWeight: number): Terms {
  const labels = pod.pod.metadata.labels
  const { namespaceLabels } = cluster
  const own = (term: AffinityTerm) => termCounter(cluster, [term], term)
  const concerning = cluster.counts.carried.filter(({ term }) =>
    termMatches(term, pod.namespace, labels, namespaceLabels),
  )
  const weights = {
    requiredAntiAffinity: 0,
    requiredAffinity: hardWeight,
    preferredAffinity: 1,
    preferredAntiAffinity: -1,
  }
  return {
    affinity: pod.requiredAffinity.map((term) => termCounter(cluster, pod.requiredAffinity, term)),
    isSelfAffine: pod.requiredAffinity.every((term) => termMatches(term, pod.namespace, labels, namespaceLabels)),
    antiAffinity: pod.requiredAntiAffinity.map(own),
    others: concerning.filter(({ kind }) => kind === 'requiredAntiAffinity').map(({ counter }) => counter),
    preferred: [
      ...pod.preferredAffinity.map(({ term, weight }) => ({ counter: own(term), weight })),
      ...pod.preferredAntiAffinity.map(({ term, weight }) => ({ counter: own(term), weight: -weight })),
      ...concerning
        .map(({ kind, counter, weight }) => ({ counter, weight: weight * weights[kind] }))
        .filter(({ weight }) => weight !== 0),
    ],
  }
}

/** Pods that match all terms, in the places of one of them. */
function termCounter(cluster: ClusterState, terms: readonly AffinityTerm[], place: AffinityTerm): PodCounter {
  for (const term of terms) {
    for (const key of selectorKeys(term.selector)) cluster.counts.labelKeys.add(key)
    if (term.namespaceSelector) cluster.counts.usesNamespaceLabels = true
  }
  return cluster.counter({
    signature: `term|${place.topologyKey}|${terms.map(({ signature }) => signature).join('&')}`,
    topology: cluster.topology(place.topologyKey),
    countOf: ({ namespace, labels }) =>
      terms.every((term) => termMatches(term, namespace, labels, cluster.namespaceLabels)) ? 1 : 0,
    countsTerminating: true,
  })
}

/** Nodes of one value of each wide place stand together; what is counted per host is part of what they share. */
function grouping(counters: readonly PodCounter[], { affinity, antiAffinity, others, preferred }: Terms): ClassRules {
  const topologies = [...new Set(counters.map(({ topology }) => topology))]
  const isHost = (counter: PodCounter) => counter.topology.key === HOSTNAME_KEY
  const flags = [...affinity, ...antiAffinity, ...others].filter(isHost)
  const weighted = preferred.filter(({ counter }) => isHost(counter))
  const groupByPods: ((node: number) => number)[] = []
  for (let start = 0; start < flags.length; start += 30) {
    const some = flags.slice(start, start + 30)
    groupByPods.push((node) => some.reduce((bits, counter, i) => (counter.at(node) > 0 ? bits | (1 << i) : bits), 0))
  }
  if (weighted.length > 0) groupByPods.push((node) => sumOf(weighted, node))
  return {
    nodeKey: topologies.map(({ key }) => key).join(),
    groupByNode: topologies.map((topology) =>
      topology.key === HOSTNAME_KEY
        ? (node: number) => (topology.values[node]! < 0 ? 0 : 1)
        : (node: number) => topology.values[node]!,
    ),
    groupByPods,
  }
}

function filtering({ affinity, isSelfAffine, antiAffinity, others }: Terms): ClassRules {
  let isFirst = false
  return {
    beginFilter() {
      isFirst = isSelfAffine && affinity.every(({ total }) => total === 0)
    },
    filterGroup(node) {
      for (const counter of affinity) {
        if (counter.topology.values[node]! < 0) return NO_AFFINITY
        if (!isFirst && counter.at(node) === 0) return NO_AFFINITY
      }
      for (const counter of antiAffinity) if (counter.at(node) > 0) return OWN_ANTI_AFFINITY
      for (const counter of others) if (counter.at(node) > 0) return OTHERS_ANTI_AFFINITY
      return undefined
    },
  }
}

function scoring(preferred: readonly WeightedCounter[]): ClassRules {
  return {
    scoreGroup: (node) => sumOf(preferred, node),
    normalize: (sum, least, most) => (most === least ? 0 : Math.trunc(MAX_SCORE * ((sum - least) / (most - least)))),
  }
}

function sumOf(weighted: readonly WeightedCounter[], node: number): number {
  let sum = 0
  for (let w = 0; w < weighted.length; w++) sum += weighted[w]!.counter.at(node) * weighted[w]!.weight
  return sum
}
