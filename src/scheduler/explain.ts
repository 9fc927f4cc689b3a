import type { Pod } from '../api/generated/core-v1.ts'
import type { InformerFactory } from '../client/informer-factory.ts'
import type { SchedulerConfiguration } from './configuration.ts'
import { feed } from './feed/feed.ts'
import { type Attempt, type Candidate, walk } from './framework/decision.ts'
import { SchedulingContext, type SchedulingSources } from './scheduling-context.ts'

/** Why a pod is where it is. */
export interface Explanation {
  /** What was asked of all nodes at once and refused, if anything. */
  readonly refused?: { readonly plugin: string; readonly reasons: readonly string[] }
  readonly rejected: readonly RejectedNode[]
  /** The nodes that would do, the best first. */
  readonly scored: readonly ScoredNode[]
  /** The sentence that the pod's events carry if no node will do. */
  readonly message?: string
}

export interface RejectedNode {
  readonly node: string
  readonly plugin: string
  readonly reasons: readonly string[]
}

export interface ScoredNode {
  readonly node: string
  readonly total: number
  /** Points by plugin, weighted. */
  readonly scores: Readonly<Record<string, number>>
}

/** Looks at a pod as if it came now: a pod with a node is taken off it first. */
export function explainPod(context: SchedulingContext, pod: Pod): Explanation {
  const profile = context.profileOf(pod) ?? [...context.profiles.values()][0]!
  const { nodeName: _ofPod, ...spec } = pod.spec!
  const classified = context.classify({ ...pod, spec })
  const attempt = context.attempt(classified, profile)
  const placed = context.cluster.getPod(pod.metadata.uid ?? '')
  return placed ? without(context, pod, () => explainAttempt(attempt)) : explainAttempt(attempt)
}

/** The pod itself must not stand in its own way. */
function without<T>({ cluster }: SchedulingContext, pod: Pod, look: () => T): T {
  const { node, facts } = cluster.removePod(pod.metadata.uid!)!
  const name = cluster.columns.names[node] ?? facts.pod.spec!.nodeName!
  try {
    return look()
  } finally {
    cluster.addPod(facts.pod, name, facts)
  }
}

function explainAttempt(attempt: Attempt): Explanation {
  const { profile, pod, cycle, cluster, podClass } = attempt
  for (const { plugin } of profile.plugins) {
    if (plugin.concerns?.(pod.facts.pod) === false) continue
    const refused = plugin.preFilter?.(pod.facts.pod, cycle)
    if (refused && 'reasons' in refused) return { refused, rejected: [], scored: [] }
  }
  const { candidates, rejections } = walk(attempt)
  const rejected: RejectedNode[] = []
  const passing: Candidate[] = []
  const isPinnedOut = (name: string) => pod.pinned !== undefined && !pod.pinned.has(name)
  for (const candidate of candidates) {
    if (!isPinnedOut(cluster.nodeName(candidate.node))) passing.push(candidate)
  }
  for (const node of cluster.presentNodes()) {
    const name = cluster.nodeName(node)
    const rejection = podClass.rejectionOf(node) ?? rejections.get(node)
    if (rejection) rejected.push({ node: name, plugin: rejection.plugin, reasons: rejection.reasons })
    else if (isPinnedOut(name))
      rejected.push({
        node: name,
        plugin: 'NodeAffinity',
        reasons: ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
      })
  }
  const scored = passing
    .sort((a, b) => b.score - a.score || a.node - b.node)
    .map((candidate) => ({
      node: cluster.nodeName(candidate.node),
      total: candidate.score,
      scores: scoresOf(attempt, candidate, candidates),
    }))
  if (scored.length > 0) return { rejected, scored }
  return { rejected, scored, message: podClass.diagnosis().message }
}

function scoresOf({ podClass }: Attempt, { node, group, score }: Candidate, all: readonly Candidate[]) {
  const { rules } = podClass
  const scores: Record<string, number> = {}
  let explained = 0
  const add = (plugin: string, points: number) => {
    scores[plugin] = (scores[plugin] ?? 0) + points
    explained += points
  }
  for (const { plugin, weight, rules: own } of rules.all) {
    const direct = (own.scoreNode?.(node) ?? 0) + (own.scorePods?.(node) ?? 0)
    if (weight > 0 && (own.scoreNode || own.scorePods)) add(plugin, weight * direct)
  }
  rules.scoreGroup.forEach(({ plugin, weight, rules: own }, s) => {
    const raws = all.map((one) => one.group.raw[s]!).filter((raw) => !Number.isNaN(raw))
    const [least, most] = [Math.min(...raws), Math.max(...raws)]
    add(plugin, weight * (own.normalize ? own.normalize(group.raw[s]!, least, most) : group.raw[s]!))
  })
  if (score !== explained) scores['own plugins'] = score - explained
  return scores
}

/** Explains from outside: reads the cluster through the API and decides what the scheduler would. */
export async function explainScheduling(
  sources: SchedulingSources & { readonly informers: InformerFactory },
  pod: Pod,
  configuration: SchedulerConfiguration = {},
): Promise<Explanation> {
  const context = new SchedulingContext(sources, configuration)
  const nothing = () => {}
  const stop = feed(context, sources.informers, {
    pending: nothing,
    settled: nothing,
    happened: nothing,
    roomOn: nothing,
  })
  try {
    await sources.informers.synced()
    return explainPod(context, pod)
  } finally {
    stop()
  }
}
