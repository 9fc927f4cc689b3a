import type { Rejection, SchedulerPlugin } from '../../plugin.ts'

const OTHER_NODE: Rejection = {
  plugin: 'NodeName',
  reasons: ["node(s) didn't match the requested node name"],
  resolvable: false,
}

/** A pod that names its node goes nowhere else. */
export const nodeName: SchedulerPlugin = {
  name: 'NodeName',
  retryOn: ['NodeAdd'],
  forClass(pod, { columns }) {
    const wanted = pod.pod.spec?.nodeName
    if (!wanted) return undefined
    return { nodeKey: wanted, filterNode: (node) => (columns.names[node] === wanted ? undefined : OTHER_NODE) }
  },
}
