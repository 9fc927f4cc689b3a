import type { Node, Pod } from '../../api/generated/core-v1.ts'
import {
  concerns,
  counts,
  HOSTNAME,
  hasOf,
  includedNodes,
  labelsOf,
  matchesTerm,
  podsNear,
  podsOn,
  preferred,
  requestOf,
  required,
  spreadOf,
  usedOn,
  type World,
} from './reference-reasons.contract.ts'

/** The scores of nodes that would do, by name: each rule for each node, as documented. */
export function scoresOf(world: World, pod: Pod, nodes: readonly Node[]): Map<string, number> {
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
