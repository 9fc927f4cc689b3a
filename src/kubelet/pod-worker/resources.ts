import type { Container, Node, Pod } from '../../api/generated/core-v1.ts'
import { type QosClass, qosClass } from '../../api/kinds/core/pod/qos.ts'
import {
  aggregateLimits,
  aggregateRequests,
  parseAmount,
  type ResourceList,
} from '../../api/kinds/core/pod/resources.ts'
import { milliValue, value } from '../../api/meta/quantity.ts'
import type { LinuxContainerResources } from '../../container-runtime/container-config.ts'

const PERIOD = 100_000
const MIN_QUOTA = 1000
const MIN_SHARES = 2
const MAX_SHARES = 262_144
const GUARANTEED_SCORE = -997
const BEST_EFFORT_SCORE = 1000
/** Pods of this priority and above keep the node itself alive. */
const CRITICAL_PRIORITY = 2_000_000_000

export const podQos = (pod: Pod): QosClass => (pod.spec ? qosClass(pod.spec) : 'BestEffort')

/** Guaranteed pods stand beside the groups of the others. */
export function cgroupParent(pod: Pod): string {
  const qos = podQos(pod)
  const parent = qos === 'Guaranteed' ? '/kubepods' : `/kubepods/${qos.toLowerCase()}`
  return `${parent}/pod${pod.metadata.uid}`
}

export function containerResources(pod: Pod, container: Container, node: Node | undefined): LinuxContainerResources {
  const { limits, requests } = container.resources ?? {}
  const request = milli(requests) || milli(limits)
  const memory = bytes(limits, 'memory')
  return {
    cpuShares: shares(request),
    ...quota(milli(limits)),
    ...(memory > 0 && { memoryLimitBytes: memory }),
    oomScoreAdj: oomScore(pod, container, node),
  }
}

/** Limits of the pod as a whole: only where every container has one. */
export function podResources(pod: Pod): LinuxContainerResources {
  const { spec } = pod
  if (!spec) return {}
  const all = [...spec.containers, ...(spec.initContainers ?? [])]
  const everyHas = (name: string) => all.every(({ resources }) => resources?.limits?.[name] !== undefined)
  const requests = Object.fromEntries(aggregateRequests(spec))
  const limits = Object.fromEntries(aggregateLimits(spec))
  const own = { ...limits, ...spec.resources?.limits }
  const memory = bytes(own, 'memory')
  const limitsCpu = everyHas('cpu') || spec.resources?.limits?.cpu !== undefined
  const limitsMemory = everyHas('memory') || spec.resources?.limits?.memory !== undefined
  return {
    cpuShares: podQos(pod) === 'BestEffort' ? MIN_SHARES : shares(milli({ ...requests, ...spec.resources?.requests })),
    ...(limitsCpu && quota(milli(own))),
    ...(limitsMemory && memory > 0 && { memoryLimitBytes: memory }),
  }
}

const shares = (milliCpu: number) =>
  milliCpu === 0 ? MIN_SHARES : Math.min(MAX_SHARES, Math.max(MIN_SHARES, Math.floor((milliCpu * 1024) / 1000)))

function quota(milliCpu: number): Pick<LinuxContainerResources, 'cpuQuota' | 'cpuPeriod'> {
  if (milliCpu === 0) return {}
  return { cpuQuota: Math.max(MIN_QUOTA, Math.floor((milliCpu * PERIOD) / 1000)), cpuPeriod: PERIOD }
}

/** Who is killed first when memory runs out: those who asked for least of what they use. */
function oomScore(pod: Pod, container: Container, node: Node | undefined): number {
  if ((pod.spec?.priority ?? 0) >= CRITICAL_PRIORITY) return GUARANTEED_SCORE
  const qos = podQos(pod)
  if (qos === 'Guaranteed') return GUARANTEED_SCORE
  if (qos === 'BestEffort') return BEST_EFFORT_SCORE
  const capacity = bytes(node?.status?.capacity, 'memory')
  const request = bytes(container.resources?.requests, 'memory')
  const score = capacity === 0 ? 999 : 1000 - Math.floor((1000 * request) / capacity)
  return Math.min(999, Math.max(1000 + GUARANTEED_SCORE, score))
}

const milli = (list: ResourceList | undefined) => {
  const quantity = list?.cpu === undefined ? undefined : parseAmount(list.cpu)
  return quantity ? milliValue(quantity) : 0
}

const bytes = (list: ResourceList | undefined, name: string) => {
  const quantity = list?.[name] === undefined ? undefined : parseAmount(list[name])
  return quantity ? value(quantity) : 0
}
