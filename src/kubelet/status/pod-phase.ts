import type { ContainerStatus, Pod } from '../../api/generated/core-v1.ts'
import { isSidecar } from '../../api/kinds/core/pod/resources.ts'

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed'

export interface PhaseInput {
  readonly pod: Pod
  readonly init: readonly ContainerStatus[]
  readonly containers: readonly ContainerStatus[]
  /** Everything was stopped and nothing will be started again. */
  readonly isStopped: boolean
}

export const isTerminalPhase = (phase: string | undefined) => phase === 'Succeeded' || phase === 'Failed'

/** One word for where the pod is, from what its containers do. */
export function podPhase({ pod, init, containers, isStopped }: PhaseInput): PodPhase {
  const policy = pod.spec?.restartPolicy ?? 'Always'
  const counts = countContainers(containers)
  const initialization = initializationOf(pod, init, containers)
  if (initialization === 'failed') return 'Failed'
  if (isStopped && counts.waiting === 0 && counts.ended > 0)
    return counts.ended === counts.succeeded ? 'Succeeded' : 'Failed'
  if (isStopped) return 'Failed'
  if (initialization === 'pending' || counts.waiting > 0) return 'Pending'
  if (counts.running > 0) return 'Running'
  if (counts.ended === 0) return 'Pending'
  if (policy === 'Always' || counts.restarting > 0) return 'Running'
  if (counts.ended === counts.succeeded) return 'Succeeded'
  return policy === 'Never' ? 'Failed' : 'Running'
}

/** A container that waits to be started again counts as ended, one that never ran as waiting. */
function countContainers(containers: readonly ContainerStatus[]) {
  const counts = { waiting: 0, running: 0, ended: 0, succeeded: 0, restarting: 0 }
  for (const { state, lastState } of containers) {
    if (state?.running) counts.running++
    else if (state?.terminated) {
      counts.ended++
      if (state.terminated.exitCode === 0) counts.succeeded++
    } else if (lastState?.terminated) {
      counts.ended++
      counts.restarting++
    } else counts.waiting++
  }
  return counts
}

function initializationOf(
  pod: Pod,
  init: readonly ContainerStatus[],
  containers: readonly ContainerStatus[],
): 'done' | 'pending' | 'failed' {
  if (containers.some(({ state, lastState }) => state?.running || state?.terminated || lastState?.terminated))
    return 'done'
  for (const container of pod.spec?.initContainers ?? []) {
    const status = init.find(({ name }) => name === container.name)
    if (isSidecar(container)) {
      if (!status?.started) return 'pending'
      continue
    }
    const end = status?.state?.terminated
    if (!end) return 'pending'
    if (end.exitCode !== 0) return mayRestart(pod, container) ? 'pending' : 'failed'
  }
  return 'done'
}

function mayRestart(pod: Pod, { restartPolicy, restartPolicyRules }: NonNullable<Pod['spec']>['containers'][number]) {
  return (restartPolicy ?? pod.spec?.restartPolicy) !== 'Never' || (restartPolicyRules?.length ?? 0) > 0
}
