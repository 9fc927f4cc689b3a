import { humanDuration } from '../../api/meta/time.ts'
import type { ClusterStatus } from '../../cluster/cluster-status.ts'
import type { PartStatus } from '../../cluster/part.ts'

/** Rows of process, part, state, and for how long: the control plane first, then each node of this machine. */
export function partRows({ health, nodes }: Pick<ClusterStatus, 'health' | 'nodes'>, now: number): string[][] {
  const rowsOf = (process: string, parts: readonly PartStatus[]) =>
    parts.map(({ name, state, since, error }) => [
      process,
      name,
      error === undefined ? state : `${state}: ${error}`,
      humanDuration(now - since),
    ])
  return [...rowsOf('control plane', health?.parts ?? []), ...nodes.flatMap((node) => rowsOf(node.name, node.parts))]
}
