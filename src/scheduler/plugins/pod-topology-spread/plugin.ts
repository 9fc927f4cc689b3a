import type { TopologySpreadConstraint } from '../../../api/generated/core-v1.ts'
import { selectsEverything } from '../../../api/meta/label-selector.ts'
import { type ClassRules, type GroupView, MAX_SCORE, type Rejection, type SchedulerPlugin } from '../../plugin.ts'
import { type SpreadConstraint, type SpreadConstraints, SYSTEM_DEFAULTS, spreadConstraints } from './constraints.ts'
import type { DefaultSelectors } from './default-selectors.ts'

const MISSING_LABEL: Rejection = {
  plugin: 'PodTopologySpread',
  reasons: ["node(s) didn't match pod topology spread constraints (missing required label)"],
  resolvable: false,
}
const SKEWED: Rejection = {
  plugin: 'PodTopologySpread',
  reasons: ["node(s) didn't match pod topology spread constraints"],
  resolvable: true,
}

/** Keeps pods that belong together apart: evenly over zones, hosts, or any other label of nodes. */
export function podTopologySpread(selectors: DefaultSelectors): SchedulerPlugin {
  return {
    name: 'PodTopologySpread',
    retryOn: ['NodeAdd', 'NodeUpdate', 'PodAdd', 'PodDelete', 'PodUpdate', 'PodLabelUpdate'],
    forClass(pod, cluster, args) {
      const isSystem = args.defaultingType !== 'List'
      const constraints = isSystem
        ? SYSTEM_DEFAULTS
        : ((args.defaultConstraints as readonly TopologySpreadConstraint[] | undefined) ?? [])
      const selector = selectors.selectorOf(pod.pod)
      const defaults = selectsEverything(selector) ? undefined : { constraints, isSystem, selector }
      const spread = spreadConstraints(pod, cluster, defaults)
      if (spread.hard.length + spread.soft.length === 0) return undefined
      return {
        ...grouping(spread),
        ...(spread.hard.length > 0 && filtering(spread.hard)),
        ...(spread.soft.length > 0 && scoring(spread)),
        release() {
          for (const { counter } of [...spread.hard, ...spread.soft]) cluster.counts.release(counter)
        },
      }
    },
  }
}

function grouping({ hard, soft }: SpreadConstraints): ClassRules {
  const groupByNode: ((node: number) => number)[] = []
  const groupByPods: ((node: number) => number)[] = []
  for (const { topology, isHostname, counter } of [...hard, ...soft]) {
    groupByNode.push(isHostname ? (node) => (topology.values[node]! < 0 ? 0 : 1) : (node) => topology.values[node]!)
    if (isHostname) groupByPods.push((node) => counter.at(node))
  }
  return { nodeKey: [...hard, ...soft].map(({ topology }) => topology.key).join(), groupByNode, groupByPods }
}

function filtering(hard: readonly SpreadConstraint[]): ClassRules {
  const floors = hard.map(() => 0)
  return {
    beginFilter() {
      hard.forEach(({ counter, minDomains }, i) => {
        floors[i] = counter.domains < minDomains ? 0 : counter.least
      })
    },
    filterGroup(node) {
      for (let c = 0; c < hard.length; c++) {
        const { topology, counter, self, maxSkew } = hard[c]!
        if (topology.values[node]! < 0) return MISSING_LABEL
        if (counter.at(node) + self - floors[c]! > maxSkew) return SKEWED
      }
      return undefined
    },
  }
}

function scoring({ soft, requiresAllKeys }: SpreadConstraints): ClassRules {
  const weights = soft.map(() => 0)
  const isIgnored = (node: number) => requiresAllKeys && soft.some(({ topology }) => topology.values[node]! < 0)
  return {
    beginScore(groups) {
      const scored = groups.filter(({ node }) => !isIgnored(node))
      soft.forEach((constraint, i) => {
        // The fewer domains, the less a pod more in one of them matters.
        weights[i] = Math.log(domainsAmong(constraint, scored) + 2)
      })
    },
    scoreGroup(node) {
      if (isIgnored(node)) return Number.NaN
      let score = 0
      for (let c = 0; c < soft.length; c++) {
        const { topology, counter, maxSkew } = soft[c]!
        if (topology.values[node]! >= 0) score += counter.at(node) * weights[c]! + (maxSkew - 1)
      }
      return Math.round(score)
    },
    normalize(score, least, most) {
      if (Number.isNaN(score)) return 0
      return most === 0 ? MAX_SCORE : Math.floor((MAX_SCORE * (most + least - score)) / most)
    },
  }
}

function domainsAmong({ topology, isHostname }: SpreadConstraint, groups: readonly GroupView[]): number {
  if (isHostname) return groups.reduce((nodes, { size }) => nodes + size, 0)
  return new Set(groups.map(({ node }) => topology.values[node]!)).size
}
