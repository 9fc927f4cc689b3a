import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { reasonAgainst, type World, withVolumes } from './reference-reasons.contract.ts'
import { scoresOf } from './reference-scores.contract.ts'
import { claimReason } from './reference-volumes.contract.ts'

export interface Verdict {
  readonly node: string
  readonly reason?: string
  readonly score?: number
}

/** A verdict for every node, in their order. Slow and obvious. */
export function referenceVerdicts(world: World, pod: Pod): Verdict[] {
  const reasons = world.nodes.map((node) => claimProblem(world, pod) ?? reasonBesidePromised(world, pod, node))
  const feasible = world.nodes.filter((_, i) => reasons[i] === undefined)
  const scores = scoresOf(world, pod, feasible)
  return world.nodes.map((node, i) => {
    const name = node.metadata.name!
    return reasons[i] === undefined ? { node: name, score: scores.get(name)! } : { node: name, reason: reasons[i]! }
  })
}

function claimProblem(world: World, pod: Pod): string | undefined {
  const volumes = withVolumes(world)
  return volumes && claimReason(volumes, pod)
}

/** A node must do as it is, and with the pods on it that it is promised to and that do not matter less. */
function reasonBesidePromised(world: World, pod: Pod, node: Node): string | undefined {
  const first = (world.promised ?? []).filter(
    ({ metadata, spec }) =>
      metadata.uid !== pod.metadata.uid &&
      spec?.nodeName === node.metadata.name &&
      (spec?.priority ?? 0) >= (pod.spec?.priority ?? 0),
  )
  const beside = { ...world, pods: [...world.pods, ...first] }
  return (first.length > 0 ? reasonAgainst(beside, pod, node) : undefined) ?? reasonAgainst(world, pod, node)
}
