import type { Pod } from '../../../generated/core-v1.ts'
import type { Column } from '../../../kind.ts'
import { age } from '../../../meta/time.ts'
import { ageColumn, column, nameColumn, wideColumn } from '../printed-columns.ts'
import { type PodSummary, podSummary } from './summary.ts'

const NONE = '<none>'

/** Three columns ask for the same summary of the same pod, one after the other. */
let lastPod: Pod | undefined
let lastSummary: PodSummary | undefined
function summaryOf(pod: Pod): PodSummary {
  if (pod !== lastPod || !lastSummary) {
    lastSummary = podSummary(pod)
    lastPod = pod
  }
  return lastSummary
}

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  column('Ready', 'Containers that are ready, of all that should be.', (pod) => {
    const { ready, total } = summaryOf(pod)
    return `${ready}/${total}`
  }),
  column('Status', 'What the pod is doing, or why it is not.', (pod) => summaryOf(pod).reason),
  column('Restarts', 'How often containers were restarted, and when last.', (pod, now) => {
    const { restarts, lastRestart } = summaryOf(pod)
    return restarts !== 0 && lastRestart ? `${restarts} (${age(lastRestart, now)} ago)` : `${restarts}`
  }),
  ageColumn,
  wideColumn('IP', 'First address of the pod.', (pod) => pod.status?.podIPs?.[0]?.ip || pod.status?.podIP || NONE),
  wideColumn('Node', 'Node that runs the pod.', (pod) => pod.spec?.nodeName || NONE),
  wideColumn('Nominated Node', 'Node that makes room for the pod.', (pod) => pod.status?.nominatedNodeName || NONE),
  wideColumn('Readiness Gates', 'Readiness gates that are passed, of all.', (pod) => {
    const gates = pod.spec?.readinessGates ?? []
    if (gates.length === 0) return NONE
    const met = new Set(pod.status?.conditions?.filter((c) => c.status === 'True').map((c) => c.type))
    const passed = gates.filter((gate) => met.has(gate.conditionType))
    return `${passed.length}/${gates.length}`
  }),
]
