import type { Pod } from '../../api/generated/core-v1.ts'
import { formatQuantity, milliQuantity, milliValue, parseQuantity, quantityOf, value } from '../../api/meta/quantity.ts'
import { formatTime } from '../../api/meta/time.ts'
import { annotationOf } from './program.ts'

/** What one thing uses, as metrics.k8s.io says it. */
export interface ResourceUsage {
  readonly cpu: string
  readonly memory: string
}

export interface PodMetrics {
  readonly metadata: Pick<Pod['metadata'], 'name' | 'namespace' | 'labels' | 'creationTimestamp'>
  readonly timestamp: string
  readonly window: string
  readonly containers: readonly { readonly name: string; readonly usage: ResourceUsage }[]
}

export interface NodeMetrics {
  readonly metadata: { readonly name: string }
  readonly timestamp: string
  readonly window: string
  readonly usage: ResourceUsage
}

const WINDOW = '15s'
const IDLE_CPU = 1
const IDLE_MEMORY = 16 * 1024 * 1024

/** Running containers use what `cpu` and `memory` annotations say, and next to nothing without. */
export function podMetrics(pod: Pod, now: number): PodMetrics | undefined {
  const running = pod.status?.containerStatuses?.filter(({ state }) => state?.running) ?? []
  if (running.length === 0) return undefined
  const { name, namespace, labels, creationTimestamp } = pod.metadata
  return {
    metadata: {
      name,
      namespace,
      ...(labels && { labels }),
      ...(creationTimestamp && { creationTimestamp }),
    } as Pod['metadata'],
    timestamp: formatTime(now),
    window: WINDOW,
    containers: running.map((status) => ({ name: status.name, usage: usageOf(pod, status.name) })),
  }
}

export function nodeMetrics(name: string, pods: readonly Pod[], now: number): NodeMetrics {
  let cpu = 0
  let memory = 0
  for (const pod of pods) {
    for (const { name: container, state } of pod.status?.containerStatuses ?? []) {
      if (!state?.running) continue
      cpu += cpuOf(pod, container)
      memory += memoryOf(pod, container)
    }
  }
  return { metadata: { name }, timestamp: formatTime(now), window: WINDOW, usage: printed(cpu, memory) }
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
