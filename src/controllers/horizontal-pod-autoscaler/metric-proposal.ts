import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
} from '../../api/generated/autoscaling-v2.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { compileLabelSelector, formatSelector, type LabelSelector } from '../../api/meta/label-selector.ts'
import { formatQuantity, milliQuantity } from '../../api/meta/quantity.ts'
import { messageOf } from '../pod-control/pod-control.ts'
import { type MetricsClient, milli } from './metrics-client.ts'
import {
  type PodTarget,
  type Proposal,
  replicasByAverage,
  replicasByShare,
  replicasByUtilization,
  replicasByValue,
  type Tolerances,
} from './replica-calculator.ts'

/** What a metric asks for. */
export interface MetricProposal {
  readonly replicas: number
  /** How messages call it. */
  readonly name: string
  readonly status: MetricStatus
}

/** A metric that tells nothing; `reason` is that of the condition and the event. */
export class MetricError extends Error {
  readonly reason: string
  /** The message as the condition has it, without what the caller puts before it. */
  readonly detail: string

  constructor(reason: string, prefix: string, detail: string) {
    super(`${prefix}: ${detail}`)
    this.reason = reason
    this.detail = detail
  }
}

/** The target of an autoscaler, as a metric sees it. */
export interface ScaleView {
  readonly autoscaler: HorizontalPodAutoscaler
  readonly specReplicas: number
  readonly statusReplicas: number
  readonly selector: string
  readonly pods: readonly Pod[]
  readonly tolerances: Tolerances
  readonly now: number
  /** `services`, `deployments.apps`: how the custom metrics API calls a kind. */
  resourceNameOf(kind: { readonly apiVersion?: string; readonly kind: string }): string
}

export async function proposeReplicas(
  metrics: MetricsClient,
  spec: MetricSpec,
  view: ScaleView,
): Promise<MetricProposal> {
  if (spec.resource) return await byResource(metrics, spec, view)
  if (spec.containerResource) return await byContainerResource(metrics, spec, view)
  if (spec.pods) return await byPods(metrics, spec, view)
  if (spec.object) return await byObject(metrics, spec, view)
  if (spec.external) return await byExternal(metrics, spec, view)
  throw new MetricError('InvalidMetricSourceType', 'invalid metric', `unknown metric source type "${spec.type}"`)
}

async function failingAs<T>(reason: string, prefix: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw new MetricError(reason, prefix, messageOf(error))
  }
}

async function prefixed<T>(prefix: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw new Error(`${prefix}: ${messageOf(error)}`)
  }
}

const namespaceOf = ({ autoscaler }: ScaleView) => autoscaler.metadata.namespace ?? ''
const quantity = (value: number, resource?: string) =>
  formatQuantity(milliQuantity(value, resource === 'memory' ? 'BinarySI' : 'DecimalSI'))
const selectorText = (selector: LabelSelector | undefined) =>
  selector ? formatSelector(compileLabelSelector(selector)) : ''

function byResource(metrics: MetricsClient, { resource }: MetricSpec, view: ScaleView): Promise<MetricProposal> {
  const { name, target } = resource!
  return failingAs('FailedGetResourceMetric', `failed to get ${name} resource metric value`, async () => {
    const proposal = await byUsage(metrics, name, target, view)
    const isUtilization = proposal.utilization !== undefined
    return {
      replicas: proposal.replicas,
      name: `${name} resource${isUtilization ? ' utilization (percentage of request)' : ''}`,
      status: { type: 'Resource', resource: { name, current: currentOf(proposal, name) } },
    }
  })
}

function byContainerResource(metrics: MetricsClient, spec: MetricSpec, view: ScaleView): Promise<MetricProposal> {
  const { name, container, target } = spec.containerResource!
  return failingAs(
    'FailedGetContainerResourceMetric',
    `failed to get ${container} container metric value`,
    async () => {
      const proposal = await byUsage(metrics, name, target, view, container)
      const isUtilization = proposal.utilization !== undefined
      return {
        replicas: proposal.replicas,
        name: isUtilization ? `${name} container resource utilization (percentage of request)` : `${name} resource`,
        status: {
          type: 'ContainerResource',
          containerResource: { name, container, current: currentOf(proposal, name) },
        },
      }
    },
  )
}

function currentOf({ usage, utilization }: Proposal, resource: string) {
  return {
    averageValue: quantity(usage, resource),
    ...(utilization !== undefined && { averageUtilization: utilization }),
  }
}

function byUsage(
  metrics: MetricsClient,
  resource: string,
  target: MetricTarget,
  view: ScaleView,
  container?: string,
): Promise<Proposal> {
  const { averageValue, averageUtilization } = target
  const what = averageValue === undefined ? 'utilization' : 'usage'
  if (averageValue === undefined && averageUtilization === undefined)
    throw new Error(
      'invalid resource metric source: neither an average utilization target nor an average value (usage) target was set',
    )
  return prefixed(`failed to get ${resource} ${what}`, async () => {
    const measured = await prefixed(`unable to get metrics for resource ${resource}`, () =>
      metrics.resource(namespaceOf(view), view.selector, resource, container),
    )
    const about = podTarget(view, measured, resource)
    if (averageValue !== undefined) return replicasByAverage(about, milli(averageValue) ?? 0)
    return replicasByUtilization(about, averageUtilization ?? 0, container)
  })
}

function podTarget(view: ScaleView, metrics: PodTarget['metrics'], resource?: string): PodTarget {
  const { pods, tolerances, now, specReplicas: current } = view
  return { pods, metrics, current, tolerances, now, ...(resource && { resource }) }
}

function byPods(client: MetricsClient, { pods }: MetricSpec, view: ScaleView): Promise<MetricProposal> {
  const { metric, target } = pods!
  return failingAs('FailedGetPodsMetric', 'failed to get pods metric value', async () => {
    const measured = await prefixed(`unable to get metric ${metric.name}`, () =>
      client.pods(namespaceOf(view), view.selector, metric.name, selectorText(metric.selector)),
    )
    const proposal = replicasByAverage(podTarget(view, measured), milli(target.averageValue) ?? 0)
    return {
      replicas: proposal.replicas,
      name: `pods metric ${metric.name}`,
      status: { type: 'Pods', pods: { metric, current: { averageValue: quantity(proposal.usage) } } },
    }
  })
}

function byObject(client: MetricsClient, { object }: MetricSpec, view: ScaleView): Promise<MetricProposal> {
  const { metric, target, describedObject } = object!
  return failingAs('FailedGetObjectMetric', 'failed to get object metric value', async () => {
    const { kind, name } = describedObject
    const usage = await prefixed(`unable to get metric ${metric.name} on ${kind} ${namespaceOf(view)}/${name}`, () => {
      const resource = view.resourceNameOf(describedObject)
      return client.object(namespaceOf(view), describedObject, resource, metric.name, selectorText(metric.selector))
    })
    const proposal = byWhole(usage, target, view, 'object')
    return {
      replicas: proposal.replicas,
      name:
        target.type === 'Value'
          ? `${kind} metric ${metric.name}`
          : `external metric ${metric.name}(${selectorName(metric.selector)})`,
      status: { type: 'Object', object: { describedObject, metric, current: wholeStatus(proposal, target) } },
    }
  })
}

function byExternal(client: MetricsClient, { external }: MetricSpec, view: ScaleView): Promise<MetricProposal> {
  const { metric, target } = external!
  return failingAs('FailedGetExternalMetric', `failed to get ${metric.name} external metric value`, async () => {
    const where = `${namespaceOf(view)}/${metric.name}/${selectorName(metric.selector)}`
    const usage = await prefixed(`unable to get external metric ${where}`, () =>
      client.external(namespaceOf(view), metric.name, selectorText(metric.selector)),
    )
    const proposal = byWhole(usage, target, view, 'external')
    return {
      replicas: proposal.replicas,
      name: `external metric ${metric.name}(${selectorName(metric.selector)})`,
      status: { type: 'External', external: { metric, current: wholeStatus(proposal, target) } },
    }
  })
}

function byWhole(usage: number, target: MetricTarget, view: ScaleView, source: string): Proposal {
  const { specReplicas: current, statusReplicas, pods, tolerances } = view
  if (target.averageValue !== undefined)
    return replicasByShare(usage, milli(target.averageValue) ?? 0, statusReplicas, tolerances)
  if (target.value !== undefined) return replicasByValue(usage, milli(target.value) ?? 0, { current, pods, tolerances })
  throw new Error(`invalid ${source} metric source: neither a value target nor an average value target was set`)
}

const wholeStatus = ({ usage }: Proposal, target: MetricTarget) =>
  target.averageValue === undefined ? { value: quantity(usage) } : { averageValue: quantity(usage) }

/** A selector as messages show it. */
function selectorName(selector: LabelSelector | undefined): string {
  if (!selector) return 'nil'
  const labels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}: ${value},`)
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{},}`
}
