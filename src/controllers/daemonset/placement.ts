import type { Pod } from '../../api/generated/core-v1.ts'
import { isAvailable, isReady, isTerminating } from '../pod-control/pod-state.ts'
import { isUpdated } from './daemon-pod.ts'
import type { Eligibility } from './eligibility.ts'

/** One node as a DaemonSet sees it. */
export interface DaemonNode extends Eligibility {
  readonly name: string
  /** Those of this DaemonSet. */
  readonly pods: readonly Pod[]
}

/** What there is to decide by, for one DaemonSet. */
export interface Situation {
  readonly nodes: readonly DaemonNode[]
  /** The revision of the template, as pods carry it. */
  readonly hash: string
  readonly minReadySeconds: number
  readonly maxSurge: number
  readonly maxUnavailable: number
  readonly now: number
}

export interface Steps {
  /** Names of nodes. */
  readonly create: readonly string[]
  readonly delete: readonly Pod[]
}

/** One pod on each node that should have one, none elsewhere. Pods that have ended are told of apart. */
export function placementSteps(situation: Situation): Steps & { readonly ended: readonly Pod[] } {
  const create: string[] = []
  const excess: Pod[] = []
  const ended: Pod[] = []
  for (const node of situation.nodes) {
    if (node.shouldRun && node.pods.length === 0) create.push(node.name)
    const running: Pod[] = []
    for (const pod of node.pods) {
      if (isTerminating(pod)) continue
      if (!node.mayStay) excess.push(pod)
      else if (hasEnded(pod)) ended.push(pod)
      else running.push(pod)
    }
    excess.push(...tooMany(running, situation))
  }
  return { create, delete: excess, ended }
}

const hasEnded = ({ status }: Pod) => status?.phase === 'Failed' || status?.phase === 'Succeeded'

/** Of several pods on a node the oldest stays; in a surge the oldest of each revision, until the new one is available. */
function tooMany(running: readonly Pod[], situation: Situation): Pod[] {
  if (running.length < 2) return []
  const sorted = [...running].sort(byAge)
  if (situation.maxSurge === 0) return sorted.slice(1)
  const { hash, minReadySeconds, now } = situation
  const [newest, ...newExcess] = sorted.filter((pod) => isUpdated(pod, hash))
  const [oldest, ...oldExcess] = sorted.filter((pod) => !isUpdated(pod, hash))
  const isReplaced = newest && oldest && (!isReady(oldest) || isAvailable(newest, minReadySeconds, now))
  return [...newExcess, ...oldExcess, ...(isReplaced ? [oldest] : [])]
}

/** Pods that have a node before those that wait for one, then the oldest first. */
export function byAge(a: Pod, b: Pod): number {
  if (!a.spec?.nodeName !== !b.spec?.nodeName) return a.spec?.nodeName ? -1 : 1
  const [left, right] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '']
  if (left !== right) return left < right ? -1 : 1
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
}
