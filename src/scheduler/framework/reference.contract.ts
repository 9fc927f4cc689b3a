import type {
  Node,
  NodeSelectorTerm,
  Pod,
  PodAffinityTerm,
  TopologySpreadConstraint,
} from '../../api/generated/core-v1.ts'
import { compileLabelSelector, type LabelSelector, matchesLabels } from '../../api/meta/label-selector.ts'

/** Everything as plain objects: the rules of the documentation, applied to each node in turn. */
export interface World {
  readonly nodes: readonly Node[]
  /** With `spec.nodeName`. */
  readonly pods: readonly Pod[]
  readonly namespaces: ReadonlyMap<string, Record<string, string>>
  /** The selector by which a pod belongs to a service, if any. */
  readonly services: readonly { readonly namespace: string; readonly selector: Record<string, string> }[]
}

export interface Verdict {
  readonly node: string
  readonly reason?: string
  readonly score?: number
}

const HOSTNAME = 'kubernetes.io/hostname'
const ZONE = 'topology.kubernetes.io/zone'

/** A verdict for every node, in their order. Slow and obvious. */
export function referenceVerdicts(world: World, pod: Pod): Verdict[] {
  const reasons = world.nodes.map((node) => reasonAgainst(world, pod, node))
  const feasible = world.nodes.filter((_, i) => reasons[i] === undefined)
  const scores = scoresOf(world, pod, feasible)
  return world.nodes.map((node, i) => {
    const name = node.metadata.name!
    return reasons[i] === undefined ? { node: name, score: scores.get(name)! } : { node: name, reason: reasons[i]! }
  })
}

const labelsOf = (object: { metadata: { labels?: Record<string, string> } }) => object.metadata.labels ?? {}
const podsOn = (world: World, node: Node) => world.pods.filter((pod) => pod.spec?.nodeName === node.metadata.name)

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
  return resourceReason(world, pod, node) ?? spreadReason(world, pod, node) ?? affinityReason(world, pod, node)
}

function matchesNodeAffinity(pod: Pod, node: Node): boolean {
  const wanted = Object.entries(pod.spec?.nodeSelector ?? {})
  if (!wanted.every(([key, value]) => labelsOf(node)[key] === value)) return false
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return !required || required.nodeSelectorTerms.some((term) => matchesTerm(term, node))
}

function matchesTerm(term: NodeSelectorTerm, node: Node): boolean {
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

function requestOf(pod: Pod, resource: string, byDefault = 0): number {
  return pod.spec!.containers.reduce(
    (sum, { resources }) =>
      sum + (resources?.requests?.[resource] === undefined ? byDefault : amount(resources.requests[resource])),
    0,
  )
}

function usedOn(world: World, node: Node, resource: string, byDefault = 0): number {
  return podsOn(world, node).reduce((sum, pod) => sum + requestOf(pod, resource, byDefault), 0)
}

const hasOf = (node: Node, resource: string) => amount(node.status?.allocatable?.[resource])

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

function spreadOf(world: World, pod: Pod, action: string): Spread {
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

const counts = (pods: readonly Pod[], pod: Pod, selector: LabelSelector | undefined) =>
  pods.filter(
    (other) =>
      other.metadata.namespace === pod.metadata.namespace &&
      !other.metadata.deletionTimestamp &&
      selects(selector, other),
  ).length

function includedNodes(world: World, pod: Pod, one: TopologySpreadConstraint, keys: readonly string[]): Node[] {
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

function concerns(world: World, term: PodAffinityTerm, owner: Pod, other: Pod): boolean {
  const namespace = other.metadata.namespace!
  const named = term.namespaces ?? []
  const selected =
    term.namespaceSelector &&
    matchesLabels(compileLabelSelector(term.namespaceSelector), world.namespaces.get(namespace))
  const own = named.length === 0 && !term.namespaceSelector && namespace === owner.metadata.namespace
  return (named.includes(namespace) || selected || own) && selects(term.labelSelector, other)
}

/** Pods in the same place as a node, by a label. */
function podsNear(world: World, node: Node, key: string): Pod[] {
  const value = labelsOf(node)[key]
  if (value === undefined) return []
  return world.nodes.filter((other) => labelsOf(other)[key] === value).flatMap((other) => podsOn(world, other))
}

const required = (pod: Pod, kind: 'podAffinity' | 'podAntiAffinity') =>
  pod.spec?.affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? []
const preferred = (pod: Pod, kind: 'podAffinity' | 'podAntiAffinity') =>
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

function scoresOf(world: World, pod: Pod, nodes: readonly Node[]): Map<string, number> {
  const parts = [
    weighted(
      3,
      normalized(
        nodes.map((node) => badTaints(pod, node)),
        true,
      ),
    ),
    weighted(
      2,
      normalized(
        nodes.map((node) => preferredNode(pod, node)),
        false,
      ),
    ),
    weighted(
      1,
      nodes.map((node) => leastAllocated(world, pod, node)),
    ),
    weighted(
      1,
      nodes.map((node) => balanced(world, pod, node)),
    ),
    weighted(
      1,
      nodes.map((node) => imageScore(world, pod, node)),
    ),
    weighted(2, spreadScores(world, pod, nodes)),
    weighted(2, affinityScores(world, pod, nodes)),
  ]
  return new Map(nodes.map((node, i) => [node.metadata.name!, parts.reduce((sum, part) => sum + part[i]!, 0)]))
}

const weighted = (weight: number, scores: readonly number[]) => scores.map((score) => weight * score)

function normalized(scores: readonly number[], reversed: boolean): number[] {
  const most = Math.max(0, ...scores)
  return scores.map((score) => {
    const share = most === 0 ? 0 : Math.floor((100 * score) / most)
    return reversed ? 100 - share : share
  })
}

function badTaints(pod: Pod, node: Node): number {
  const tolerations = (pod.spec?.tolerations ?? []).filter(({ effect }) => !effect || effect === 'PreferNoSchedule')
  return (node.spec?.taints ?? []).filter(
    (taint) =>
      taint.effect === 'PreferNoSchedule' &&
      !tolerations.some((t) =>
        t.operator === 'Exists'
          ? !t.key || t.key === taint.key
          : t.key === taint.key && (t.value ?? '') === (taint.value ?? ''),
      ),
  ).length
}

const preferredNode = (pod: Pod, node: Node) =>
  (pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).reduce(
    (sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0),
    0,
  )

function leastAllocated(world: World, pod: Pod, node: Node): number {
  const score = (resource: string, byDefault: number) => {
    const has = hasOf(node, resource)
    const used = usedOn(world, node, resource, byDefault) + requestOf(pod, resource, byDefault)
    return used > has ? 0 : Math.floor(((has - used) * 100) / has)
  }
  return Math.floor((score('cpu', 100) + score('memory', 200)) / 2)
}

function balanced(world: World, pod: Pod, node: Node): number {
  if (requestOf(pod, 'cpu') === 0 && requestOf(pod, 'memory') === 0) return 0
  const share = (resource: string) => {
    const fraction = (usedOn(world, node, resource) + requestOf(pod, resource)) / hasOf(node, resource)
    return Math.min(1, fraction)
  }
  return Math.trunc((1 - Math.abs((share('cpu') - share('memory')) / 2)) * 100)
}

function imageScore(world: World, pod: Pod, node: Node): number {
  const mebibyte = 1024 * 1024
  const sizeOn = (other: Node, image: string) =>
    other.status?.images?.find(({ names }) => names?.includes(image))?.sizeBytes
  const sum = pod.spec!.containers.reduce((total, { image = '' }) => {
    const size = sizeOn(node, image)
    if (size === undefined) return total
    const having = world.nodes.filter((other) => sizeOn(other, image) !== undefined).length
    return total + Math.trunc(size * (having / world.nodes.length))
  }, 0)
  const most = 1000 * mebibyte * pod.spec!.containers.length
  const bounded = Math.min(most, Math.max(23 * mebibyte, sum))
  return Math.floor((100 * (bounded - 23 * mebibyte)) / (most - 23 * mebibyte))
}

function spreadScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const { constraints, requiresAll } = spreadOf(world, pod, 'ScheduleAnyway')
  if (constraints.length === 0) return nodes.map(() => 0)
  const keys = requiresAll ? constraints.map(({ topologyKey }) => topologyKey) : []
  const isIgnored = (node: Node) => !keys.every((key) => labelsOf(node)[key] !== undefined)
  const scored = nodes.filter((node) => !isIgnored(node))
  const raw = nodes.map((node) => {
    if (isIgnored(node)) return undefined
    let score = 0
    for (const one of constraints) {
      const value = labelsOf(node)[one.topologyKey]
      if (value === undefined) continue
      const isHost = one.topologyKey === HOSTNAME
      const domains = isHost ? scored.length : new Set(scored.map((other) => labelsOf(other)[one.topologyKey])).size
      const places = isHost
        ? [node]
        : includedNodes(world, pod, one, keys).filter((other) => labelsOf(other)[one.topologyKey] === value)
      const count = counts(
        places.flatMap((other) => podsOn(world, other)),
        pod,
        one.labelSelector,
      )
      score += count * Math.log(domains + 2) + (one.maxSkew - 1)
    }
    return Math.round(score)
  })
  const known = raw.filter((score) => score !== undefined)
  const [least, most] = [Math.min(...known), Math.max(0, ...known)]
  return raw.map((score) => {
    if (score === undefined) return 0
    return most === 0 ? 100 : Math.floor((100 * (most + least - score)) / most)
  })
}

function affinityScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const raw = nodes.map((node) => {
    let sum = 0
    for (const [kind, sign] of [
      ['podAffinity', 1],
      ['podAntiAffinity', -1],
    ] as const) {
      for (const { weight, podAffinityTerm: term } of preferred(pod, kind))
        sum +=
          sign *
          weight *
          podsNear(world, node, term.topologyKey).filter((other) => concerns(world, term, pod, other)).length
      for (const other of world.pods)
        for (const { weight, podAffinityTerm: term } of preferred(other, kind))
          if (concerns(world, term, other, pod) && podsNear(world, node, term.topologyKey).includes(other))
            sum += sign * weight
    }
    for (const other of world.pods)
      for (const term of required(other, 'podAffinity'))
        if (concerns(world, term, other, pod) && podsNear(world, node, term.topologyKey).includes(other)) sum += 1
    return sum
  })
  const [least, most] = [Math.min(...raw), Math.max(...raw)]
  return raw.map((sum) => (most === least ? 0 : Math.trunc(100 * ((sum - least) / (most - least)))))
}
