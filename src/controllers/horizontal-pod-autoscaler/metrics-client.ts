import type { CrossVersionObjectReference } from '../../api/generated/autoscaling-v2.ts'
import { milliValue, parseQuantity } from '../../api/meta/quantity.ts'
import { parseTime } from '../../api/meta/time.ts'
import type { Client } from '../../client/client.ts'
import type { ApiCall, ResourceType } from '../../client/transport.ts'
import { messageOf } from '../pod-control/pod-control.ts'

/** One pod's value, in thousandths, and the time it was measured over. */
export interface PodMetric {
  readonly value: number
  readonly timestamp: number
  readonly window: number
}

/** By the name of the pod. */
export type PodMetrics = Map<string, PodMetric>

interface PodMetricsItem {
  readonly metadata: { readonly name?: string }
  readonly timestamp?: string
  readonly window?: string
  readonly containers?: readonly { readonly name: string; readonly usage?: Readonly<Record<string, string>> }[]
}

interface MetricValue {
  readonly describedObject?: { readonly name?: string }
  readonly timestamp?: string
  readonly windowSeconds?: number
  readonly value: string | number
}

const RESOURCE_METRICS: ResourceType = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  plural: 'pods',
  namespaced: true,
}
const CUSTOM_METRICS = { group: 'custom.metrics.k8s.io', version: 'v1beta2', namespaced: true }
const EXTERNAL_METRICS = { group: 'external.metrics.k8s.io', version: 'v1beta1', namespaced: true }
const DEFAULT_WINDOW = 60_000

/** Reads what the three metrics APIs tell, where somebody serves them. */
export class MetricsClient {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** The use of a resource by each pod, or by one container of each. Pods that do not tell are left out. */
  async resource(namespace: string, selector: string, resource: string, container?: string): Promise<PodMetrics> {
    const call = { verb: 'list', resource: RESOURCE_METRICS, namespace, query: { labelSelector: selector } } as const
    const metrics: PodMetrics = new Map()
    for (const item of await this.#items<PodMetricsItem>(call, 'resource')) {
      const containers = (item.containers ?? []).filter(({ name }) => container === undefined || name === container)
      const values = containers.map(({ usage }) => milli(usage?.[resource]))
      if (values.length === 0 || values.includes(undefined)) continue
      metrics.set(item.metadata.name ?? '', {
        value: values.reduce((sum: number, value) => sum + value!, 0),
        timestamp: parseTime(item.timestamp ?? '') ?? 0,
        window: seconds(item.window),
      })
    }
    if (metrics.size === 0) throw new Error('no metrics returned from resource metrics API')
    return metrics
  }

  async pods(namespace: string, selector: string, metric: string, metricSelector: string): Promise<PodMetrics> {
    const resource = { ...CUSTOM_METRICS, plural: 'pods' }
    const query = { labelSelector: selector, ...(metricSelector && { metricLabelSelector: metricSelector }) }
    const call = { verb: 'get', resource, namespace, name: '*', subresource: metric, query } as const
    const items = await this.#items<MetricValue>(call, 'custom')
    if (items.length === 0) throw new Error('no metrics returned from custom metrics API')
    return new Map(
      items.map(({ describedObject, value, timestamp, windowSeconds }) => [
        describedObject?.name ?? '',
        {
          value: milli(value) ?? 0,
          timestamp: parseTime(timestamp ?? '') ?? 0,
          window: windowSeconds === undefined ? DEFAULT_WINDOW : windowSeconds * 1000,
        },
      ]),
    )
  }

  async object(
    namespace: string,
    { name }: CrossVersionObjectReference,
    resourceName: string,
    metric: string,
    metricSelector: string,
  ): Promise<number> {
    const resource = { ...CUSTOM_METRICS, plural: resourceName }
    const query: Record<string, string> = metricSelector ? { metricLabelSelector: metricSelector } : {}
    const call = { verb: 'get', resource, namespace, name, subresource: metric, query } as const
    const [item] = await this.#items<MetricValue>(call, 'custom')
    if (!item) throw new Error('no metrics returned from custom metrics API')
    return milli(item.value) ?? 0
  }

  /** The sum of all values of the metric that the selector selects. */
  async external(namespace: string, metric: string, metricSelector: string): Promise<number> {
    const resource = { ...EXTERNAL_METRICS, plural: metric }
    const query: Record<string, string> = metricSelector ? { labelSelector: metricSelector } : {}
    const items = await this.#items<MetricValue>({ verb: 'list', resource, namespace, query }, 'external')
    if (items.length === 0) throw new Error('no metrics returned from external metrics API')
    return items.reduce((sum, { value }) => sum + (milli(value) ?? 0), 0)
  }

  async #items<T>(call: ApiCall, api: string): Promise<readonly T[]> {
    try {
      const answer = await this.#client.transport.call(call)
      return (answer.items ?? []) as unknown as readonly T[]
    } catch (error) {
      throw new Error(`unable to fetch metrics from ${api} metrics API: ${messageOf(error)}`)
    }
  }
}

/** Thousandths of a quantity; undefined if it is none. */
export function milli(quantity: string | number | undefined): number | undefined {
  const parsed = quantity === undefined ? undefined : parseQuantity(String(quantity))
  return parsed && milliValue(parsed)
}

/** A duration as Go writes it, in milliseconds: `30s`, `1m0s`. */
function seconds(text: string | undefined): number {
  const match = /^(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?$/.exec(text ?? '')
  if (!text || !match) return DEFAULT_WINDOW
  const [hours, minutes, rest] = match.slice(1).map((part) => Number(part ?? 0)) as [number, number, number]
  return ((hours * 60 + minutes) * 60 + rest) * 1000
}
