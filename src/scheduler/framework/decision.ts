import type { Pod } from '../../api/generated/core-v1.ts'
import type { ClusterState } from '../cache/cluster-state.ts'
import type { CycleContext, GroupView, NodeView, Rejection, SchedulerPlugin } from '../plugin.ts'
import type { Classified } from './class-table.ts'
import { Diagnosis } from './diagnosis.ts'
import type { NominatedPods } from './nominated-pods.ts'
import type { PodClass } from './pod-class.ts'
import type { EnabledPlugin, Profile } from './profile.ts'
import { type ScoredGroup, scoreGroups } from './score-groups.ts'

export type Decision = { readonly node: number } | { readonly diagnosis: Diagnosis }

/** One node that is left, with everything that its score is made of. */
export interface Candidate {
  readonly node: number
  score: number
  readonly group: PartOfGroup
}

interface PartOfGroup extends ScoredGroup {
  size: number
}

/** What one attempt works with. */
export interface Attempt {
  readonly pod: Classified
  readonly podClass: PodClass
  readonly profile: Profile
  readonly cluster: ClusterState
  readonly nominated: NominatedPods
  readonly cycle: CycleContext
}

/** Finds the best node for a pod, or says why there is none. */
export function decide(attempt: Attempt): Decision {
  const { pod, podClass, profile, cluster, cycle, nominated } = attempt
  if (cluster.columns.count === 0) return { diagnosis: new Diagnosis(0, new Map()) }
  const only = preFilter(profile, pod, cycle)
  if (only && 'reasons' in only) return { diagnosis: new Diagnosis(cluster.columns.count, new Map(), only) }
  const wanted = nominated.nodeOf(pod.facts.uid)
  if (wanted !== undefined && !rejectionAt(attempt, wanted)) return { node: wanted }
  if (only) return decideAmong(attempt, only.nodes, only.plugin)
  if (profile.plugins.some(({ plugin }) => isAsked(plugin, pod.facts.pod))) return decideByWalk(attempt)
  if (podClass.rules.filterGroup.length > 0 && nominated.concerns(pod.facts)) return decideBesidePromised(attempt)
  const node = podClass.pick()
  return node === undefined ? { diagnosis: podClass.diagnosis() } : { node }
}

/** What other nodes have to do with the pod is not remembered by node: those that are promised are looked at now. */
function decideBesidePromised(attempt: Attempt): Decision {
  const { pod, podClass, nominated } = attempt
  const refused: number[] = []
  for (const node of nominated.nodesBefore(pod.facts)) if (promisedRejection(attempt, node)) refused.push(node)
  const node = podClass.pickWithout(refused)
  return node === undefined ? decideByWalk(attempt) : { node }
}

/** Plain hooks of the default plugins are about claims only. */
export const isAsked = (plugin: SchedulerPlugin, pod: Pod): boolean =>
  (plugin.filter !== undefined || plugin.score !== undefined) && (plugin.concerns?.(pod) ?? true)

interface NodeSet {
  readonly nodes: ReadonlySet<string>
  readonly plugin: string
}

function preFilter(profile: Profile, pod: Classified, cycle: CycleContext): Rejection | NodeSet | undefined {
  let only: NodeSet | undefined = pod.pinned && { nodes: pod.pinned, plugin: 'NodeAffinity' }
  for (const { plugin } of profile.plugins) {
    if (!plugin.preFilter || plugin.concerns?.(pod.facts.pod) === false) continue
    const answer = plugin.preFilter(pod.facts.pod, cycle)
    if (!answer) continue
    if ('reasons' in answer) return answer
    const before = only?.nodes
    const nodes = before ? new Set([...answer.nodes].filter((name) => before.has(name))) : answer.nodes
    only = { nodes, plugin: plugin.name }
  }
  return only
}

/** The pod names the only nodes worth a look: no column is needed for these few. */
function decideAmong(attempt: Attempt, names: ReadonlySet<string>, plugin: string): Decision {
  const { cluster } = attempt
  const counts = new Map<Rejection, number>()
  const passing: number[] = []
  let looked = 0
  for (const name of names) {
    const node = cluster.columns.find(name)
    if (node === undefined || cluster.columns.present[node] === 0) continue
    looked++
    const rejection = rejectionAt(attempt, node)
    if (rejection) counts.set(rejection, (counts.get(rejection) ?? 0) + 1)
    else passing.push(node)
  }
  if (passing.length === 1) return { node: passing[0]! }
  if (passing.length > 1) return { node: best(scoredCandidates(attempt, asGroups(passing))) }
  const elsewhere = cluster.columns.count - looked
  if (elsewhere > 0)
    counts.set({ plugin, reasons: [`node(s) didn't satisfy plugin(s) [${plugin}]`], resolvable: false }, elsewhere)
  return { diagnosis: new Diagnosis(cluster.columns.count, counts) }
}

/** Each node for itself: exact for any set of nodes. */
const asGroups = (nodes: readonly number[]) =>
  nodes.map((node) => ({ nodes: [node], own: undefined as ((node: number) => number) | undefined }))

function decideByWalk(attempt: Attempt): Decision {
  const { candidates, rejections } = walk(attempt)
  if (candidates.length > 0) return { node: best(candidates) }
  const counts = new Map(attempt.podClass.diagnosis().counts)
  for (const rejection of rejections.values()) counts.set(rejection, (counts.get(rejection) ?? 0) + 1)
  return { diagnosis: new Diagnosis(attempt.cluster.columns.count, counts) }
}

/** Every node that passes everything, with its score; and why those that the class let through did not. */
export function walk(attempt: Attempt): { candidates: Candidate[]; rejections: Map<number, Rejection> } {
  const { podClass } = attempt
  const rejections = new Map<number, Rejection>()
  const groups: { nodes: number[]; own: (node: number) => number }[] = []
  for (const group of podClass.passingGroups()) {
    const nodes: number[] = []
    for (const node of [...group.members()]) {
      const rejection = extraRejection(attempt, node)
      if (rejection) rejections.set(node, rejection)
      else nodes.push(node)
    }
    if (nodes.length > 0) groups.push({ nodes, own: (node) => podClass.ownScore(node) })
  }
  return { candidates: scoredCandidates(attempt, groups), rejections }
}

function scoredCandidates(
  attempt: Attempt,
  groups: readonly { nodes: readonly number[]; own: ((node: number) => number) | undefined }[],
): Candidate[] {
  const { podClass, profile } = attempt
  const candidates: Candidate[] = []
  const parts: PartOfGroup[] = []
  for (const { nodes, own } of groups) {
    const part: PartOfGroup = { node: nodes[0]!, size: nodes.length, total: 0, raw: [] }
    parts.push(part)
    for (const node of nodes) candidates.push({ node, group: part, score: own ? own(node) : ownScore(podClass, node) })
  }
  if (candidates.length === 0) return candidates
  scoreGroups(podClass.rules.scoreGroup, parts as readonly (ScoredGroup & GroupView)[])
  for (const candidate of candidates) candidate.score += candidate.group.total
  for (const enabled of profile.plugins) addPlainScore(attempt, enabled, candidates)
  return candidates
}

function ownScore({ rules }: PodClass, node: number): number {
  let score = 0
  for (const each of [...rules.scoreNode, ...rules.scorePods]) score += each.weight * each.score(node)
  return score
}

function addPlainScore(attempt: Attempt, { plugin, weight }: EnabledPlugin, candidates: Candidate[]): void {
  if (!plugin.score || weight === 0) return
  const { cluster, cycle, pod } = attempt
  if (plugin.concerns?.(pod.facts.pod) === false) return
  const views = candidates.map(({ node }) => nodeView(cluster, node))
  plugin.preScore?.(pod.facts.pod, views, cycle)
  const scores = views.map((view) => plugin.score!(pod.facts.pod, view, cycle))
  plugin.normalizeScore?.(scores, cycle)
  candidates.forEach((candidate, i) => {
    candidate.score += weight * scores[i]!
  })
}

function best(candidates: readonly Candidate[]): number {
  let found = candidates[0]!
  for (const one of candidates)
    if (one.score > found.score || (one.score === found.score && one.node < found.node)) found = one
  return found.node
}

/** Everything that is asked of one node, as things are now. */
export function rejectionAt(attempt: Attempt, node: number): Rejection | undefined {
  return attempt.podClass.check(node) ?? extraRejection(attempt, node)
}

/** What is asked beyond the class: pods that are promised the node, and plain hooks. */
function extraRejection(attempt: Attempt, node: number): Rejection | undefined {
  return promisedRejection(attempt, node) ?? plainRejection(attempt, node)
}

function promisedRejection(attempt: Attempt, node: number): Rejection | undefined {
  const { pod, podClass, nominated } = attempt
  return nominated.rejectionWith(pod.facts, node, () => podClass.check(node) ?? plainRejection(attempt, node))
}

function plainRejection({ pod, profile, cluster, cycle }: Attempt, node: number): Rejection | undefined {
  let view: NodeView | undefined
  for (const { plugin } of profile.plugins) {
    if (!plugin.filter || plugin.concerns?.(pod.facts.pod) === false) continue
    view ??= nodeView(cluster, node)
    const answer = plugin.filter(pod.facts.pod, view, cycle)
    if (typeof answer === 'string') return { plugin: plugin.name, reasons: [answer], resolvable: true }
    if (answer) return answer
  }
  return undefined
}

export function nodeView(cluster: ClusterState, node: number): NodeView {
  return {
    node: cluster.columns.nodes[node]!,
    get pods() {
      return [...cluster.podsOn(node)].map(({ facts }) => facts.pod)
    },
  }
}
