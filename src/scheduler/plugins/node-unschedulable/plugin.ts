import { TAINT } from '../../../api/meta/well-known.ts'
import { isTolerated } from '../../cache/tolerations.ts'
import type { Rejection, SchedulerPlugin } from '../../plugin.ts'

const UNSCHEDULABLE: Rejection = {
  plugin: 'NodeUnschedulable',
  reasons: ['node(s) were unschedulable'],
  resolvable: false,
}
const CORDON = { key: TAINT.unschedulable, effect: 'NoSchedule' }

/** Leaves cordoned nodes alone. */
export const nodeUnschedulable: SchedulerPlugin = {
  name: 'NodeUnschedulable',
  retryOn: ['NodeAdd', 'NodeUpdate'],
  forClass(pod, { columns }) {
    if (isTolerated(CORDON, pod.pod.spec?.tolerations ?? [])) return undefined
    return { nodeKey: '', filterNode: (node) => (columns.nodes[node]!.spec?.unschedulable ? UNSCHEDULABLE : undefined) }
  },
}
