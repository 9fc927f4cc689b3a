import type { Node, Pod } from '../api/generated/core-v1.ts'
import type { ClusterState } from './cache/cluster-state.ts'
import type { PodFacts } from './cache/pod-facts.ts'
import type { ClusterEvent } from './queue/cluster-event.ts'

/** Why a node (or every node) cannot take a pod. One object per distinct reason, so that equal ones are identical. */
export interface Rejection {
  readonly plugin: string
  /** What `kubectl describe pod` counts nodes by. */
  readonly reasons: readonly string[]
  /** Whether taking other pods off the node could help: only then preemption looks at it. */
  readonly resolvable: boolean
}

/**
 * A plugin has two faces, and each plugin has the one or the other or both.
 *
 * The fast face is `forClass`: pods that are alike form a class, and the plugin says once for all of them what it asks
 * of a node. Its answers are kept and only asked again when the node changes. The default plugins use it.
 *
 * The plain face is the hooks that get a pod and a node. They are called for every pod and every node that is left; the
 * simplest way to add a rule, at the price of a walk over all nodes.
 */
export interface SchedulerPlugin {
  readonly name: string
  /** Kinds of events after which a pod that this plugin refused is worth another try; all if absent. */
  readonly retryOn?: readonly ClusterEvent[]
  forClass?(pod: PodFacts, cluster: ClusterState, args: PluginArgs): ClassRules | undefined

  /** Whether the hooks below have anything to say about a pod; they are not called for others. */
  concerns?(pod: Pod): boolean
  /** Refuses the pod on every node at once, or names the only nodes worth a look. */
  preFilter?(pod: Pod, cycle: CycleContext): Rejection | { readonly nodes: ReadonlySet<string> } | undefined
  filter?(pod: Pod, node: NodeView, cycle: CycleContext): Rejection | string | undefined
  /** No node was found: makes room, or at least says why not. */
  postFilter?(pod: Pod, cycle: CycleContext): string | undefined
  preScore?(pod: Pod, nodes: readonly NodeView[], cycle: CycleContext): void
  /** Any number; `normalizeScore` brings the scores of all nodes to 0..100. */
  score?(pod: Pod, node: NodeView, cycle: CycleContext): number
  normalizeScore?(scores: number[], cycle: CycleContext): void
  /** The pod was given to the node in memory. A text refuses it; `unreserve` undoes what was done. */
  reserve?(pod: Pod, nodeName: string, cycle: CycleContext): string | undefined
  unreserve?(pod: Pod, nodeName: string, cycle: CycleContext): void
  /** May delay the binding, or refuse it by a text. */
  permit?(pod: Pod, nodeName: string, cycle: CycleContext): Promise<string | undefined> | string | undefined
  /** What must be true in the API before the pod is bound. A thrown error refuses the binding. */
  preBind?(pod: Pod, nodeName: string, cycle: CycleContext): Promise<void> | void
  /** Binds the pod itself; true if it did. */
  bind?(pod: Pod, nodeName: string, cycle: CycleContext): Promise<boolean> | boolean
  postBind?(pod: Pod, nodeName: string, cycle: CycleContext): void
}

export type PluginArgs = Readonly<Record<string, unknown>>

/** A node as hooks see it. */
export interface NodeView {
  readonly node: Node
  readonly pods: readonly Pod[]
}

/** What one attempt to place one pod carries from hook to hook. */
export interface CycleContext {
  readonly data: Map<string, unknown>
  readonly cluster: ClusterState
}

/**
 * What a plugin asks of nodes for all pods of a class. Nodes are numbers: their places in the columns of `ClusterState`.
 * Which method a question belongs to says when it has to be asked again.
 */
export interface ClassRules {
  /**
   * Classes for which this text is equal hear the same from `filterNode`, `scoreNode` and `groupByNode`, and so share
   * it; without a text nothing is shared.
   */
  readonly nodeKey?: string
  /** The same for `filterPods` and `scorePods`. */
  readonly podsKey?: string
  /** From the node object alone. */
  filterNode?(node: number): Rejection | undefined
  /** From the node and the pods on it. */
  filterPods?(node: number): Rejection | undefined
  /** 0..100, from the node object alone. */
  scoreNode?(node: number): number
  /** 0..100, from the node and the pods on it. */
  scorePods?(node: number): number

  /**
   * What nodes must have in common so that one of them can answer for all in the methods below: facts of the node
   * object, and facts that change with the pods on it.
   */
  readonly groupByNode?: readonly ((node: number) => number)[]
  readonly groupByPods?: readonly ((node: number) => number)[]
  /** Before a round of `filterGroup`. */
  beginFilter?(): void
  filterGroup?(node: number): Rejection | undefined
  /** Before a round of `scoreGroup`: the groups with nodes that passed every filter. */
  beginScore?(groups: readonly GroupView[]): void
  /** Any number, or NaN for a node that is left out. */
  scoreGroup?(node: number): number
  /** Brings a score to 0..100, knowing the least and the greatest of all nodes. */
  normalize?(score: number, least: number, greatest: number): number
  /** When this number changes, everything said so far is void. */
  stamp?(): number
  /** The class is forgotten: gives back counters. */
  release?(): void
}

export interface GroupView {
  /** Any node of the group. */
  readonly node: number
  readonly size: number
}

export const MAX_SCORE = 100
