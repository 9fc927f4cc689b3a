import type { HorizontalPodAutoscaler as V1 } from '../../../generated/autoscaling-v1.ts'
import type {
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerCondition,
  MetricSpec,
  HorizontalPodAutoscaler as V2,
} from '../../../generated/autoscaling-v2.ts'
import type { Conversion } from '../../../kind.ts'
import { cpuUtilization, DEFAULT_CPU_UTILIZATION } from '../horizontal-pod-autoscaler/defaults.ts'
import { type FlatMetric, flatMetric, nestedSpec, nestedStatus } from './metrics.ts'

/** Version 1 knows one metric, the CPU. All else travels in annotations, so that a v1 client loses nothing. */
const METRICS = 'autoscaling.alpha.kubernetes.io/metrics'
const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics'
const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions'
const BEHAVIOR = 'autoscaling.alpha.kubernetes.io/behavior'

const isCpuUtilization = (metric: MetricSpec) =>
  metric.type === 'Resource' &&
  metric.resource?.name === 'cpu' &&
  metric.resource.target?.averageUtilization !== undefined

export const horizontalPodAutoscalerConversion: Conversion = {
  storage: { group: 'autoscaling', version: 'v2', plural: 'horizontalpodautoscalers' },
  toStorage(draft) {
    const { annotations = {} } = draft.metadata
    const { spec, status } = draft as V1
    const stored = draft as V2
    const { targetCPUUtilizationPercentage: percentage, ...others } = spec ?? ({} as V1['spec'])
    const metrics = (annotated<FlatMetric[]>(annotations[METRICS], Array.isArray) ?? []).map(nestedSpec)
    if (percentage !== undefined) metrics.push(cpuUtilization(percentage))
    if (metrics.length === 0) metrics.push(cpuUtilization(DEFAULT_CPU_UTILIZATION))
    stored.spec = { ...others, metrics }
    const behavior = annotated<object>(annotations[BEHAVIOR], isObject)
    if (behavior && Object.keys(behavior).length > 0)
      stored.spec.behavior = withNames(behavior, lowerFirst) as HorizontalPodAutoscalerBehavior
    stored.status = storedStatus(status, annotations)
    removeAnnotations(draft.metadata)
  },
  fromStorage(draft) {
    const { spec, status } = draft as V2
    removeAnnotations(draft.metadata)
    const { metrics = [], behavior, ...others } = spec ?? ({} as V2['spec'])
    const cpu = metrics.find(isCpuUtilization)?.resource?.target.averageUtilization
    ;(draft as V1).spec = { ...others, ...(cpu !== undefined && { targetCPUUtilizationPercentage: cpu }) }
    const rest = metrics.filter((metric) => !isCpuUtilization(metric))
    if (rest.length > 0) annotate(draft, METRICS, rest.map(flatMetric))
    if (behavior) annotate(draft, BEHAVIOR, withNames(behavior, upperFirst))
    if (status) shownStatus(draft, status)
  },
}

function storedStatus(status: V1['status'], annotations: Readonly<Record<string, string>>): NonNullable<V2['status']> {
  const { currentCPUUtilizationPercentage: percentage, ...others } = status ?? {
    currentReplicas: 0,
    desiredReplicas: 0,
  }
  const stored: NonNullable<V2['status']> = { ...others }
  const metrics = annotated<FlatMetric[]>(annotations[CURRENT_METRICS], Array.isArray)
  if (metrics) stored.currentMetrics = metrics.map(nestedStatus)
  else if (percentage !== undefined)
    stored.currentMetrics = [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: percentage } } },
    ]
  const conditions = annotated<HorizontalPodAutoscalerCondition[]>(annotations[CONDITIONS], Array.isArray)
  if (conditions) stored.conditions = conditions
  return stored
}

function shownStatus(draft: { metadata: V2['metadata'] }, status: NonNullable<V2['status']>): void {
  const { currentMetrics = [], conditions = [], ...others } = status
  const cpu = currentMetrics.find((metric) => metric.type === 'Resource' && metric.resource?.name === 'cpu')
  const percentage = cpu?.resource?.current?.averageUtilization
  ;(draft as V1).status = {
    currentReplicas: 0,
    ...others,
    ...(percentage !== undefined && { currentCPUUtilizationPercentage: percentage }),
  }
  if (currentMetrics.length > 0) annotate(draft, CURRENT_METRICS, currentMetrics.map(flatMetric))
  if (conditions.length > 0) annotate(draft, CONDITIONS, conditions)
}

function annotate(draft: { metadata: V2['metadata'] }, key: string, value: unknown): void {
  draft.metadata.annotations = { ...draft.metadata.annotations, [key]: JSON.stringify(value) }
}

function removeAnnotations(metadata: V2['metadata']): void {
  if (!metadata.annotations) return
  const { [METRICS]: _m, [CURRENT_METRICS]: _c, [CONDITIONS]: _d, [BEHAVIOR]: _b, ...others } = metadata.annotations
  if (Object.keys(others).length > 0) metadata.annotations = others
  else delete metadata.annotations
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What an annotation holds; undefined when it is not what it should be, for users can write anything there. */
function annotated<T>(text: string | undefined, isExpected: (value: unknown) => boolean): T | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value) && !value.every(isObject)) return undefined
    return isExpected(value) ? (value as T) : undefined
  } catch {
    return undefined
  }
}

const lowerFirst = (name: string) => name.charAt(0).toLowerCase() + name.slice(1)
const upperFirst = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)

/** The behavior annotation spells its fields with capitals. */
function withNames(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => withNames(item, rename))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(entries.map(([name, field]) => [rename(name), withNames(field, rename)]))
}
