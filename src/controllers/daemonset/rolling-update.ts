import type { Pod } from '../../api/generated/core-v1.ts'
import { isAvailable, isTerminating } from '../pod-control/pod-state.ts'
import { isUpdated } from './daemon-pod.ts'
import type { DaemonNode, Situation, Steps } from './placement.ts'

/** The next steps of a rolling update; where a pod is deleted, placement makes the new one. */
export function rollingUpdateSteps(situation: Situation): Steps {
  const nodes = situation.nodes.filter((node) => node.shouldRun).map((node) => revisionsOn(node, situation.hash))
  return situation.maxSurge > 0 ? surge(nodes, situation) : replace(nodes, situation)
}

interface Revisions {
  readonly node: string
  readonly old: Pod | undefined
  readonly current: Pod | undefined
  /** More than one of a revision: placement has work to do first. */
  readonly isUnclear: boolean
}

function revisionsOn(node: DaemonNode, hash: string): Revisions {
  const pods = node.pods.filter((pod) => !isTerminating(pod))
  const current = pods.filter((pod) => isUpdated(pod, hash))
  const old = pods.filter((pod) => !isUpdated(pod, hash))
  return { node: node.name, old: old[0], current: current[0], isUnclear: old.length > 1 || current.length > 1 }
}

/** Deletes old pods as long as few enough nodes go without. One that is not available is missed by nobody. */
function replace(nodes: readonly Revisions[], situation: Situation): Steps {
  const isUp = (pod: Pod) => isAvailable(pod, situation.minReadySeconds, situation.now)
  const broken: Pod[] = []
  const working: Pod[] = []
  let unavailable = 0
  for (const { old, current, isUnclear } of nodes) {
    if (isUnclear || !old === !current) unavailable++
    else if (current) unavailable += isUp(current) ? 0 : 1
    else if (isUp(old!)) working.push(old!)
    else broken.push(old!)
  }
  const room = Math.max(0, situation.maxUnavailable - unavailable - broken.length)
  return { create: [], delete: [...broken, ...working.slice(0, room)] }
}

/** Creates new pods beside old ones on a few nodes at a time, and deletes the old one when the new one is available. */
function surge(nodes: readonly Revisions[], situation: Situation): Steps {
  const isUp = (pod: Pod) => isAvailable(pod, situation.minReadySeconds, situation.now)
  const replaced: Pod[] = []
  const broken: string[] = []
  const working: string[] = []
  let surging = 0
  for (const { node, old, current, isUnclear } of nodes) {
    if (isUnclear) surging++
    else if (old && current && isUp(current)) replaced.push(old)
    else if (old && current) surging++
    else if (old && isUp(old)) working.push(node)
    else if (old) broken.push(node)
    else if (current && !isUp(current)) surging++
  }
  const room = Math.max(0, situation.maxSurge - surging)
  return { create: [...broken, ...working.slice(0, room)], delete: replaced }
}
