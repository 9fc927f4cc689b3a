import type { NodeAffinity, PodSpec } from '../../../api/generated/core-v1.ts'
import { compileNodeSelector, compileNodeTerm, requiredNodes } from '../../cache/node-selection.ts'
import { MAX_SCORE, type PluginArgs, type Rejection, type SchedulerPlugin } from '../../plugin.ts'

const MISMATCH: Rejection = {
  plugin: 'NodeAffinity',
  reasons: ["node(s) didn't match Pod's node affinity/selector"],
  resolvable: false,
}
const ENFORCED_MISMATCH: Rejection = {
  plugin: 'NodeAffinity',
  reasons: ["node(s) didn't match scheduler-enforced node affinity"],
  resolvable: false,
}

/** nodeSelector and node affinity: required ones filter, preferred ones score. */
export const nodeAffinity: SchedulerPlugin = {
  name: 'NodeAffinity',
  retryOn: ['NodeAdd', 'NodeUpdate'],
  forClass(pod, { columns }, args) {
    const added = addedAffinity(args)
    const enforced = added?.requiredDuringSchedulingIgnoredDuringExecution
    const isEnforced = enforced && compileNodeSelector(enforced)
    const isWanted = requiredNodes(pod.pod.spec!)
    const weight = preferredWeight(pod.pod.spec!, added)
    const { nodeSelector, affinity } = pod.pod.spec!
    return {
      nodeKey: JSON.stringify([nodeSelector, affinity?.nodeAffinity]),
      ...((isWanted || isEnforced) && {
        filterNode(node) {
          const object = columns.nodes[node]!
          if (isEnforced && !isEnforced(object)) return ENFORCED_MISMATCH
          return isWanted && !isWanted(object) ? MISMATCH : undefined
        },
      }),
      ...(weight && {
        groupByNode: [(node: number) => weight(columns.nodes[node]!)],
        scoreGroup: (node: number) => weight(columns.nodes[node]!),
        normalize: (sum: number, _least: number, most: number) =>
          most === 0 ? sum : Math.floor((MAX_SCORE * sum) / most),
      }),
    }
  },
}

const addedAffinity = (args: PluginArgs) => args.addedAffinity as NodeAffinity | undefined

function preferredWeight(spec: PodSpec, added: NodeAffinity | undefined) {
  const own = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const terms = [...own, ...(added?.preferredDuringSchedulingIgnoredDuringExecution ?? [])]
    .filter(({ weight }) => weight !== 0)
    .map(({ weight, preference }) => ({ weight, matches: compileNodeTerm(preference) }))
  if (terms.length === 0) return undefined
  return (node: Parameters<(typeof terms)[0]['matches']>[0]) =>
    terms.reduce((sum, term) => sum + (term.matches(node) ? term.weight : 0), 0)
}
