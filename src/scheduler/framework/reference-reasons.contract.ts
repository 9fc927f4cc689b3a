import type {
  Node,
  NodeSelectorTerm,
  Pod,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from '../../api/generated/core-v1.ts'
import { compileLabelSelector, type LabelSelector, matchesLabels } from '../../api/meta/label-selector.ts'
import type { StorageObjects } from './random-storage.contract.ts'
import { type VolumeWorld, volumeReason } from './reference-volumes.contract.ts'

/** Everything as plain objects: the rules of the documentation, applied to each node in turn. */
export interface World {
  readonly nodes: readonly Node[]
  /** With `spec.nodeName`. */
  readonly pods: readonly Pod[]
  readonly namespaces: ReadonlyMap<string, Record<string, string>>
  /** The selector by which a pod belongs to a service, if any. */
  readonly services: readonly { readonly namespace: string; readonly selector: Record<string, string> }[]
  readonly storage?: StorageObjects
  /** Pods that a node is promised to, with `spec.nodeName`. */
  readonly promised?: readonly Pod[]
}

export const HOSTNAME = 'kubernetes.io/hostname'
const ZONE = 'topology.kubernetes.io/zone'

export const withVolumes = (world: World): VolumeWorld | undefined =>
  world.storage && { pods: world.pods, storage: world.storage, matches: matchesTerm }

export const labelsOf = (object: { metadata: { labels?: Record<string, string> } }) => object.metadata.labels ?? {}
export const podsOn = (world: World, node: Node) =>
  world.pods.filter((pod) => pod.spec?.nodeName === node.metadata.name)

/** Why a node cannot take a pod, if it cannot. */
export function reasonAgainst(world: World, pod: Pod, node: Node): string | undefined {
  const spec = pod.spec!
  const tolerates = (taint: { key: string; value?: string; effect: string }) =>
    (spec.tolerations ?? []).some(
      (t) =>
        (!t.effect || t.effect === taint.effect) &&
        (t.operator === 'Exists'
          ? !t.key || t.key === taint.key
          : t.key === taint.key && (t.value ?? '') === (taint.value ?? '')),
    )
  if (node.spec?.unschedulable && !tolerates({ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }))
    return 'node(s) were unschedulable'
  if ((node.spec?.taints ?? []).some((taint) => taint.effect !== 'PreferNoSchedule' && !tolerates(taint)))
    return 'node(s) had untolerated taint(s)'
  if (!matchesNodeAffinity(pod, node)) return "node(s) didn't match Pod's node affinity/selector"
  if (portsTaken(world, pod, node)) return "node(s) didn't have free ports for the requested pod ports"
  const volumes = withVolumes(world)
  return (
    resourceReason(world, pod, node) ??
    spreadReason(world, pod, node) ??
    affinityReason(world, pod, node) ??
    (volumes && volumeReason(volumes, pod, node))
  )
}

function matchesNodeAffinity(pod: Pod, node: Node): boolean {
  const wanted = Object.entries(pod.spec?.nodeSelector ?? {})
  if (!wanted.every(([key, value]) => labelsOf(node)[key] === value)) return false
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return !required || required.nodeSelectorTerms.some((term) => matchesTerm(term, node))
}

export function matchesTerm(term: NodeSelectorTerm, node: Node): boolean {
  const expressions = term.matchExpressions ?? []
  return (
    expressions.length > 0 &&
    expressions.every(({ key, operator, values = [] }) => {
      const value = labelsOf(node)[key]
      if (operator === 'In') return value !== undefined && values.includes(value)
      if (operator === 'NotIn') return value === undefined || !values.includes(value)
      return operator === 'Exists' ? value !== undefined : value === undefined
    })
  )
}

const hostPorts = (pod: Pod) => pod.spec!.containers.flatMap(({ ports = [] }) => ports.filter((port) => port.hostPort))

function portsTaken(world: World, pod: Pod, node: Node): boolean {
  const used = podsOn(world, node).flatMap(hostPorts)
  return hostPorts(pod).some((a) =>
    used.some(
      (b) =>
        a.hostPort === b.hostPort &&
        (a.protocol ?? 'TCP') === (b.protocol ?? 'TCP') &&
        (!a.hostIP || !b.hostIP || a.hostIP === b.hostIP),
    ),
  )
}

/** The generated worlds write cpu in `m` and memory in `Mi`. */
const amount = (text: string | number | undefined) => Number.parseInt(String(text ?? 0), 10)

export function requestOf(pod: Pod, resource: string, byDefault = 0): number {
  return pod.spec!.containers.reduce(
    (sum, { resources }) =>
      sum + (resources?.requests?.[resource] === undefined ? byDefault : amount(resources.requests[resource])),
    0,
  )
}

export function usedOn(world: World, node: Node, resource: string, byDefault = 0): number {
  return podsOn(world, node).reduce((sum, pod) => sum + requestOf(pod, resource, byDefault), 0)
}

export const hasOf = (node: Node, resource: string) => amount(node.status?.allocatable?.[resource])

function resourceReason(world: World, pod: Pod, node: Node): string | undefined {
  const missing = []
  if (podsOn(world, node).length + 1 > hasOf(node, 'pods')) missing.push('Too many pods')
  for (const resource of ['cpu', 'memory', 'example.com/device']) {
    const wanted = requestOf(pod, resource)
    if (wanted > 0 && usedOn(world, node, resource) + wanted > hasOf(node, resource))
      missing.push(`Insufficient ${resource}`)
  }
  return missing.length > 0 ? missing.join('+') : undefined
}

const selects = (selector: LabelSelector | undefined, pod: Pod) =>
  matchesLabels(compileLabelSelector(selector), labelsOf(pod))

interface Spread {
  readonly constraints: readonly TopologySpreadConstraint[]
  readonly requiresAll: boolean
}

export function spreadOf(world: World, pod: Pod, action: string): Spread {
  const own = pod.spec?.topologySpreadConstraints ?? []
  if (own.length > 0) return { constraints: own.filter((one) => one.whenUnsatisfiable === action), requiresAll: true }
  const mine = world.services.filter(
    ({ namespace, selector }) =>
      namespace === pod.metadata.namespace && Object.entries(selector).every(([k, v]) => labelsOf(pod)[k] === v),
  )
  if (action === 'DoNotSchedule' || mine.length === 0) return { constraints: [], requiresAll: false }
  const labelSelector = { matchLabels: Object.assign({}, ...mine.map(({ selector }) => selector)) }
  const whenUnsatisfiable = 'ScheduleAnyway'
  return {
    constraints: [
      { topologyKey: HOSTNAME, maxSkew: 3, whenUnsatisfiable, labelSelector },
      { topologyKey: ZONE, maxSkew: 5, whenUnsatisfiable, labelSelector },
    ],
    requiresAll: false,
  }
}

export const counts = (pods: readonly Pod[], pod: Pod, selector: LabelSelector | undefined) =>
  pods.filter(
    (other) =>
      other.metadata.namespace === pod.metadata.namespace &&
      !other.metadata.deletionTimestamp &&
      selects(selector, other),
  ).length

export function includedNodes(world: World, pod: Pod, one: TopologySpreadConstraint, keys: readonly string[]): Node[] {
  return world.nodes.filter((node) => {
    if (!keys.every((key) => labelsOf(node)[key] !== undefined)) return false
    if (one.nodeAffinityPolicy !== 'Ignore' && !matchesNodeAffinity(pod, node)) return false
    const bare: Pod = { ...pod, spec: { containers: [], tolerations: pod.spec!.tolerations ?? [] } }
    const untainted = { ...world, pods: [] }
    const tainted = reasonAgainst(untainted, bare, { ...node, spec: { taints: node.spec?.taints ?? [] } })
    return one.nodeTaintsPolicy !== 'Honor' || tainted !== 'node(s) had untolerated taint(s)'
  })
}

function spreadReason(world: World, pod: Pod, node: Node): string | undefined {
  const { constraints } = spreadOf(world, pod, 'DoNotSchedule')
  const keys = constraints.map(({ topologyKey }) => topologyKey)
  for (const one of constraints) {
    const value = labelsOf(node)[one.topologyKey]
    if (value === undefined) return "node(s) didn't match pod topology spread constraints (missing required label)"
    const domains = new Map<string, number>()
    for (const other of includedNodes(world, pod, one, keys)) {
      const domain = labelsOf(other)[one.topologyKey]!
      domains.set(domain, (domains.get(domain) ?? 0) + counts(podsOn(world, other), pod, one.labelSelector))
    }
    const least = domains.size < (one.minDomains ?? 1) ? 0 : Math.min(...domains.values())
    const self = selects(one.labelSelector, pod) ? 1 : 0
    if ((domains.get(value) ?? 0) + self - least > one.maxSkew)
      return "node(s) didn't match pod topology spread constraints"
  }
  return undefined
}

export function concerns(world: World, term: PodAffinityTerm, owner: Pod, other: Pod): boolean {
  const namespace = other.metadata.namespace!
  const named = term.namespaces ?? []
  const selected =
    term.namespaceSelector &&
    matchesLabels(compileLabelSelector(term.namespaceSelector), world.namespaces.get(namespace))
  const own = named.length === 0 && !term.namespaceSelector && namespace === owner.metadata.namespace
  return (named.includes(namespace) || selected || own) && selects(term.labelSelector, other)
}

/** Pods in the same place as a node, by a label. */
export function podsNear(world: World, node: Node, key: string): Pod[] {
  const value = labelsOf(node)[key]
  if (value === undefined) return []
  return world.nodes.filter((other) => labelsOf(other)[key] === value).flatMap((other) => podsOn(world, other))
}

export const required = (pod: Pod, kind: 'podAffinity' | 'podAntiAffinity') =>
  pod.spec?.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? []
export const preferred = (pod: Pod, kind: 'podAffinity' | 'podAntiAffinity') =>
  pod.spec?.affinity?.[kind]?.preferredDuringSchedulingIgnoredDuringExecution ?? []

function affinityReason(world: World, pod: Pod, node: Node): string | undefined {
  const wants = required(pod, 'podAffinity')
  const all = (other: Pod) => wants.every((term) => concerns(world, term, pod, other))
  const noneAnywhere = wants.every((term) =>
    world.nodes.every((other) => !podsNear(world, other, term.topologyKey).some(all)),
  )
  const isFirst = noneAnywhere && all(pod)
  for (const term of wants) {
    const isThere = labelsOf(node)[term.topologyKey] !== undefined
    if (!isThere || (!isFirst && !podsNear(world, node, term.topologyKey).some(all)))
      return "node(s) didn't match pod affinity rules"
  }
  for (const term of required(pod, 'podAntiAffinity'))
    if (podsNear(world, node, term.topologyKey).some((other) => concerns(world, term, pod, other)))
      return "node(s) didn't match pod anti-affinity rules"
  for (const other of world.pods)
    for (const term of required(other, 'podAntiAffinity'))
      if (concerns(world, term, other, pod) && podsNear(world, node, term.topologyKey).includes(other))
        return "node(s) didn't satisfy existing pods anti-affinity rules"
  return undefined
}
