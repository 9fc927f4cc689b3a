import type { Pod } from '../../api/generated/core-v1.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { parseTime } from '../../api/meta/time.ts'
import { isReady } from '../pod-control/pod-state.ts'
import { milli, type PodMetric, type PodMetrics } from './metrics-client.ts'

/** How far a ratio may be from 1 before it matters. */
export interface Tolerances {
  readonly up: number
  readonly down: number
}

export interface Proposal {
  readonly replicas: number
  /** What is used now: an average in thousandths, and in percent of what was asked for where that is the target. */
  readonly usage: number
  readonly utilization?: number
}

/** A pod that just started uses more CPU than it ever will again. */
const CPU_INITIALIZATION_PERIOD = 5 * 60_000
const INITIAL_READINESS_DELAY = 30_000
const NO_PODS = 'no pods returned by selector while calculating replica count'
const NO_METRICS = 'did not receive metrics for targeted pods (pods might be unready)'

export const isWithin = ({ up, down }: Tolerances, ratio: number) => 1 - down <= ratio && ratio <= 1 + up

/** What one calculation by pods is about. */
export interface PodTarget {
  readonly pods: readonly Pod[]
  readonly metrics: PodMetrics
  readonly current: number
  readonly tolerances: Tolerances
  readonly now: number
  readonly resource?: string
}

/** Replicas so that the average use is `target`, in thousandths. */
export function replicasByAverage(about: PodTarget, target: number): Proposal {
  const measure = (metrics: PodMetrics) => {
    let total = 0
    for (const { value } of metrics.values()) total += value
    const usage = Math.trunc(total / metrics.size)
    return { ratio: usage / target, usage }
  }
  return replicas(about, measure, () => target)
}

/** Replicas so that pods use `target` percent of what they asked for. */
export function replicasByUtilization(about: PodTarget, target: number, container?: string): Proposal {
  const requests = new Map(
    about.pods.map((pod) => [pod.metadata.name ?? '', () => requestOf(pod, about.resource ?? '', container)]),
  )
  const known = new Map<string, number>()
  const measure = (metrics: PodMetrics) => {
    if (known.size === 0) for (const [name, request] of requests) known.set(name, request())
    let used = 0
    let asked = 0
    let count = 0
    for (const [name, { value }] of metrics) {
      const request = known.get(name)
      if (request === undefined) continue
      used += value
      asked += request
      count++
    }
    if (asked === 0) throw new Error('no metrics returned matched known pods')
    const utilization = Math.trunc((used * 100) / asked)
    return { ratio: utilization / target, usage: Math.trunc(used / count), utilization }
  }
  return replicas(about, measure, (name) => ((known.get(name) ?? 0) * Math.max(100, target)) / 100)
}

type Measure = (metrics: PodMetrics) => { ratio: number; usage: number; utilization?: number }

/**
 * Pods without a figure are taken to be on the side that argues for less change: as much as allowed when it would go
 * down, nothing when it would go up. If that turns the direction, nothing is changed.
 */
function replicas(about: PodTarget, measure: Measure, missingValue: (name: string) => number): Proposal {
  const { pods, current, tolerances } = about
  if (pods.length === 0) throw new Error(NO_PODS)
  const { ready, unready, missing, ignored } = groupPods(about)
  const metrics = new Map(about.metrics)
  for (const name of [...ignored, ...unready]) metrics.delete(name)
  if (metrics.size === 0) throw new Error(NO_METRICS)
  const { ratio, ...measured } = measure(metrics)
  const isUpWithUnready = unready.length > 0 && ratio > 1
  if (!isUpWithUnready && missing.length === 0)
    return { replicas: isWithin(tolerances, ratio) ? current : Math.ceil(ratio * ready), ...measured }
  const assume = (name: string, value: number) => metrics.set(name, { value, timestamp: 0, window: 0 })
  if (ratio !== 1) for (const name of missing) assume(name, ratio < 1 ? missingValue(name) : 0)
  if (isUpWithUnready) for (const name of unready) assume(name, 0)
  const careful = measure(metrics).ratio
  const proposed = Math.ceil(careful * metrics.size)
  const turnsBack =
    isWithin(tolerances, careful) ||
    (ratio < 1 && careful > 1) ||
    (ratio > 1 && careful < 1) ||
    (careful < 1 && proposed > current) ||
    (careful > 1 && proposed < current)
  return { replicas: turnsBack ? current : proposed, ...measured }
}

function groupPods({ pods, metrics, resource, now }: PodTarget) {
  const unready: string[] = []
  const missing: string[] = []
  const ignored: string[] = []
  let ready = 0
  for (const pod of pods) {
    const { name = '', deletionTimestamp } = pod.metadata
    const metric = metrics.get(name)
    if (deletionTimestamp || pod.status?.phase === 'Failed') ignored.push(name)
    else if (pod.status?.phase === 'Pending') unready.push(name)
    else if (!metric) missing.push(name)
    else if (resource === 'cpu' && isStarting(pod, metric, now)) unready.push(name)
    else ready++
  }
  return { ready, unready, missing, ignored }
}

/** Its CPU says nothing yet: it is not ready, or was measured before it became so. */
function isStarting({ status }: Pod, metric: PodMetric, now: number): boolean {
  const condition = findCondition(status?.conditions, 'Ready')
  const start = parseTime(status?.startTime ?? '')
  if (!condition || start === undefined) return true
  const changed = parseTime(condition.lastTransitionTime ?? '') ?? 0
  const isUnready = condition.status === 'False'
  if (start + CPU_INITIALIZATION_PERIOD > now) return isUnready || metric.timestamp < changed + metric.window
  return isUnready && start + INITIAL_READINESS_DELAY > changed
}

function requestOf(pod: Pod, resource: string, container: string | undefined): number {
  const { containers = [], initContainers = [], resources } = pod.spec ?? {}
  const { name } = pod.metadata
  if (container === undefined && resources?.requests) {
    const request = milli(resources.requests[resource])
    if (request !== undefined) return request
  }
  const all = [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')]
  const counted = container === undefined ? all : all.filter((one) => one.name === container)
  if (container !== undefined && counted.length === 0)
    throw new Error(`container ${container} not found in Pod ${name}`)
  return counted.reduce((sum, one) => {
    const request = milli(one.resources?.requests?.[resource])
    if (request === undefined)
      throw new Error(`missing request for ${resource} in container ${one.name} of Pod ${name}`)
    return sum + request
  }, 0)
}

/** Replicas so that a value of the whole comes to `target`: in proportion to the pods that are ready. */
export function replicasByValue(
  usage: number,
  target: number,
  { current, pods, tolerances }: Pick<PodTarget, 'current' | 'pods' | 'tolerances'>,
): Proposal {
  const ratio = usage / target
  if (current === 0) return { replicas: Math.ceil(ratio), usage }
  if (isWithin(tolerances, ratio)) return { replicas: current, usage }
  if (pods.length === 0) throw new Error(`unable to calculate ready pods: ${NO_PODS}`)
  const ready = pods.filter((pod) => pod.status?.phase === 'Running' && isReady(pod)).length
  return { replicas: Math.ceil(ratio * ready), usage }
}

/** Replicas so that each has `target` of a value of the whole. */
export function replicasByShare(usage: number, target: number, current: number, tolerances: Tolerances): Proposal {
  const isEnough = isWithin(tolerances, usage / (target * current))
  return { replicas: isEnough ? current : Math.ceil(usage / target), usage: Math.ceil(usage / current) }
}
