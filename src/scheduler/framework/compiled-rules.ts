import type { ClusterState } from '../cache/cluster-state.ts'
import type { PodFacts } from '../cache/pod-facts.ts'
import type { ClassRules, Rejection } from '../plugin.ts'
import type { Profile } from './profile.ts'

/** The rules of one plugin for a class, with the weight of its score. */
export interface WeightedRules {
  readonly plugin: string
  readonly weight: number
  readonly rules: ClassRules
}

type Question<T> = (node: number) => T
export type Filter = Question<Rejection | undefined>
export interface WeightedScore {
  readonly score: Question<number>
  readonly weight: number
}

/** The rules of all plugins, sorted by when they are asked. The order within each list is that of the profile. */
export interface CompiledRules {
  readonly all: readonly WeightedRules[]
  readonly filterNode: readonly Filter[]
  readonly filterPods: readonly Filter[]
  readonly filterGroup: readonly Filter[]
  readonly beginFilter: readonly (() => void)[]
  readonly scoreNode: readonly WeightedScore[]
  readonly scorePods: readonly WeightedScore[]
  readonly scoreGroup: readonly WeightedRules[]
  readonly groupByNode: readonly Question<number>[]
  readonly groupByPods: readonly Question<number>[]
  /** Classes of equal keys share what they hear; undefined where some plugin names none. */
  readonly nodeKey: string | undefined
  readonly podsKey: string | undefined
  stamp(): number
}

export function compileRules(profile: Profile, facts: PodFacts, cluster: ClusterState): CompiledRules {
  const all: WeightedRules[] = []
  for (const { plugin, weight, args } of profile.plugins) {
    const rules = plugin.forClass?.(facts, cluster, args)
    if (rules) all.push({ plugin: plugin.name, weight, rules })
  }
  const collect = <K extends 'filterNode' | 'filterPods' | 'filterGroup'>(name: K): Filter[] =>
    all.flatMap(({ rules }) => (rules[name] ? [rules[name].bind(rules)] : []))
  const scores = (name: 'scoreNode' | 'scorePods'): WeightedScore[] =>
    all.flatMap(({ rules, weight }) => (rules[name] && weight > 0 ? [{ score: rules[name].bind(rules), weight }] : []))
  const stamped = all.flatMap(({ rules }) => (rules.stamp ? [rules.stamp.bind(rules)] : []))
  return {
    all,
    filterNode: collect('filterNode'),
    filterPods: collect('filterPods'),
    filterGroup: collect('filterGroup'),
    beginFilter: all.flatMap(({ rules }) => (rules.beginFilter ? [rules.beginFilter.bind(rules)] : [])),
    scoreNode: scores('scoreNode'),
    scorePods: scores('scorePods'),
    scoreGroup: all.filter(({ rules, weight }) => rules.scoreGroup && weight > 0),
    groupByNode: all.flatMap(({ rules }) => rules.groupByNode ?? []),
    groupByPods: all.flatMap(({ rules }) => rules.groupByPods ?? []),
    nodeKey: sharedKey(profile, all, 'nodeKey', ['filterNode', 'scoreNode', 'groupByNode']),
    podsKey: sharedKey(profile, all, 'podsKey', ['filterPods', 'scorePods']),
    stamp: () => {
      let sum = 0
      for (const stamp of stamped) sum += stamp()
      return sum
    },
  }
}

function sharedKey(
  { schedulerName }: Profile,
  all: readonly WeightedRules[],
  name: 'nodeKey' | 'podsKey',
  methods: readonly (keyof ClassRules)[],
): string | undefined {
  const keys = [schedulerName]
  for (const { plugin, rules } of all) {
    if (!methods.some((method) => rules[method])) continue
    const key = rules[name]
    if (key === undefined) return undefined
    keys.push(plugin, key)
  }
  return JSON.stringify(keys)
}

/** The first answer that says no. */
export function first(filters: readonly Filter[], node: number): Rejection | undefined {
  for (let f = 0; f < filters.length; f++) {
    const rejection = filters[f]!(node)
    if (rejection) return rejection
  }
  return undefined
}
