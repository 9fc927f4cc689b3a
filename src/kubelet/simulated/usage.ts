import type { Node, Pod } from '../../api/generated/core-v1.ts'
import type { KubernetesObject, ObjectMeta } from '../../api/meta/object.ts'
import { formatQuantity, milliQuantity, milliValue, parseQuantity, quantityOf, value } from '../../api/meta/quantity.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { NodeMetrics, PodMetrics, ResourceUsage } from '../../client/metrics-source.ts'
import { annotationOf } from './program.ts'

const WINDOW = '15s'
const IDLE_CPU = 1
const IDLE_MEMORY = 16 * 1024 * 1024

/** Running containers use what `cpu` and `memory` annotations say, and next to nothing without. */
export function podMetrics(pod: Pod, now: number): PodMetrics | undefined {
  const running = pod.status?.containerStatuses?.filter(({ state }) => state?.running) ?? []
  if (running.length === 0) return undefined
  return {
    metadata: metadataOf(pod, now),
    timestamp: formatTime(now),
    window: WINDOW,
    containers: running.map((status) => ({ name: status.name, usage: usageOf(pod, status.name) })),
  }
}

export function nodeMetrics(node: Node, pods: readonly Pod[], now: number): NodeMetrics {
  let cpu = 0
  let memory = 0
  for (const pod of pods) {
    for (const { name, state } of pod.status?.containerStatuses ?? []) {
      if (!state?.running) continue
      cpu += cpuOf(pod, name)
      memory += memoryOf(pod, name)
    }
  }
  return { metadata: metadataOf(node, now), timestamp: formatTime(now), window: WINDOW, usage: printed(cpu, memory) }
}

/** Metrics are found by the labels of what they tell of, and are as old as themselves. */
function metadataOf({ metadata: { name, namespace, labels } }: KubernetesObject, now: number): ObjectMeta {
  return {
    ...(name && { name }),
    ...(namespace && { namespace }),
    ...(labels && { labels }),
    creationTimestamp: formatTime(now),
  }
}

const usageOf = (pod: Pod, container: string) => printed(cpuOf(pod, container), memoryOf(pod, container))

function cpuOf(pod: Pod, container: string): number {
  const quantity = parseQuantity(annotationOf(pod, 'cpu', container) ?? '')
  return quantity ? milliValue(quantity) : IDLE_CPU
}

function memoryOf(pod: Pod, container: string): number {
  const quantity = parseQuantity(annotationOf(pod, 'memory', container) ?? '')
  return quantity ? value(quantity) : IDLE_MEMORY
}

function printed(milliCpu: number, bytes: number): ResourceUsage {
  return { cpu: formatQuantity(milliQuantity(milliCpu)), memory: formatQuantity(quantityOf(bytes, 'BinarySI')) }
}
