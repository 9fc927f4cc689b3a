import type { DaemonSet, DaemonSetStatus } from '../../api/generated/apps-v1.ts'
import { isAvailable, isReady } from '../pod-control/pod-state.ts'
import { isUpdated } from './daemon-pod.ts'
import { byAge, type Situation } from './placement.ts'

/** How far a DaemonSet is. Where several pods are on a node, the oldest speaks for it. */
export function daemonSetStatus(daemonSet: DaemonSet, situation: Situation, collisionCount: number): DaemonSetStatus {
  const { nodes, hash, minReadySeconds, now } = situation
  let [desired, current, misscheduled, ready, updated, available] = [0, 0, 0, 0, 0, 0]
  for (const { shouldRun, pods } of nodes) {
    if (!shouldRun) {
      if (pods.length > 0) misscheduled++
      continue
    }
    desired++
    const pod = pods.length > 1 ? [...pods].sort(byAge)[0] : pods[0]
    if (!pod) continue
    current++
    if (isUpdated(pod, hash)) updated++
    if (isReady(pod)) ready++
    if (isAvailable(pod, minReadySeconds, now)) available++
  }
  const unavailable = desired - available
  return {
    ...(daemonSet.status?.conditions && { conditions: daemonSet.status.conditions }),
    ...(daemonSet.metadata.generation && { observedGeneration: daemonSet.metadata.generation }),
    currentNumberScheduled: current,
    desiredNumberScheduled: desired,
    numberMisscheduled: misscheduled,
    numberReady: ready,
    ...(updated && { updatedNumberScheduled: updated }),
    ...(available && { numberAvailable: available }),
    ...(unavailable && { numberUnavailable: unavailable }),
    ...(collisionCount && { collisionCount }),
  }
}
