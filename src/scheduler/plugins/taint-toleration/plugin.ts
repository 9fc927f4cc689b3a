import { hasUntoleratedTaint, isTolerated } from '../../cache/tolerations.ts'
import { MAX_SCORE, type Rejection, type SchedulerPlugin } from '../../plugin.ts'

const UNTOLERATED: Rejection = {
  plugin: 'TaintToleration',
  reasons: ['node(s) had untolerated taint(s)'],
  resolvable: false,
}

/** Keeps pods off nodes with taints they do not tolerate, and prefers nodes with fewer taints that only advise. */
export const taintToleration: SchedulerPlugin = {
  name: 'TaintToleration',
  retryOn: ['NodeAdd', 'NodeUpdate'],
  forClass(pod, { columns }) {
    const tolerations = pod.pod.spec?.tolerations ?? []
    const advisory = tolerations.filter(({ effect }) => !effect || effect === 'PreferNoSchedule')
    const untolerated = (node: number) =>
      columns.taints[node]!.reduce(
        (count, taint) => count + (taint.effect === 'PreferNoSchedule' && !isTolerated(taint, advisory) ? 1 : 0),
        0,
      )
    return {
      nodeKey: JSON.stringify(tolerations),
      filterNode: (node) => (hasUntoleratedTaint(columns.taints[node]!, tolerations) ? UNTOLERATED : undefined),
      groupByNode: [untolerated],
      scoreGroup: untolerated,
      normalize: (count, _least, most) => (most === 0 ? MAX_SCORE : MAX_SCORE - Math.floor((MAX_SCORE * count) / most)),
    }
  },
}
