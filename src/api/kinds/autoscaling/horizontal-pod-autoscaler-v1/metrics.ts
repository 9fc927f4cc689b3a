import type {
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../../../generated/autoscaling-v2.ts'
import type { LabelSelector } from '../../../generated/meta-v1.ts'

/**
 * Metrics as they were before autoscaling/v2, which is how they stand in annotations of a v1 object: flat, with
 * `targetValue` and `currentValue` beside `metricName`. Anything may be in an annotation, so nothing is taken for
 * granted.
 */
export interface FlatMetric {
  type?: string
  object?: FlatSource
  pods?: FlatSource
  resource?: FlatSource
  containerResource?: FlatSource
  external?: FlatSource
}

interface FlatSource {
  name?: string
  container?: string
  metricName?: string
  selector?: LabelSelector
  metricSelector?: LabelSelector
  target?: { kind?: string; name?: string; apiVersion?: string }
  targetValue?: string
  targetAverageValue?: string
  targetAverageUtilization?: number
  averageValue?: string
  currentValue?: string
  currentAverageValue?: string
  currentAverageUtilization?: number
}

type Field = 'object' | 'pods' | 'resource' | 'containerResource' | 'external'
type Nested = Partial<Record<Field, NestedSource>> & { type: string }
interface NestedSource {
  name?: string
  container?: string
  metric?: MetricIdentifier
  describedObject?: { kind: string; name: string; apiVersion?: string }
  target?: MetricTarget
  current?: MetricValueStatus
}

const FIELDS: readonly Field[] = ['object', 'pods', 'resource', 'containerResource', 'external']
const text = (value: string | number | undefined) => (value === undefined ? undefined : String(value))

export function flatMetric(metric: MetricSpec | MetricStatus): FlatMetric {
  const flat: FlatMetric = { type: metric.type }
  for (const field of FIELDS) {
    const source = (metric as Nested)[field]
    if (source) flat[field] = flatSource(source, field)
  }
  return flat
}

function flatSource(source: NestedSource, field: Field): FlatSource {
  const { target, current, metric } = source
  const flat: FlatSource = { name: source.name, container: source.container, metricName: metric?.name }
  flat[field === 'external' ? 'metricSelector' : 'selector'] = metric?.selector
  if (source.describedObject) flat.target = source.describedObject
  // Measured from an object, the average has no prefix.
  const average = field === 'object' ? 'averageValue' : target ? 'targetAverageValue' : 'currentAverageValue'
  flat[average] = text(target?.averageValue ?? current?.averageValue)
  flat.targetValue = text(target?.value)
  flat.targetAverageUtilization = target?.averageUtilization
  flat.currentValue = text(current?.value)
  flat.currentAverageUtilization = current?.averageUtilization
  return flat
}

export function nestedSpec(flat: FlatMetric): MetricSpec {
  return nested(flat, (source, field) => {
    const averageValue = field === 'object' ? source.averageValue : source.targetAverageValue
    const { targetValue: value, targetAverageUtilization: averageUtilization } = source
    const type =
      averageUtilization !== undefined ? 'Utilization' : averageValue !== undefined ? 'AverageValue' : 'Value'
    return {
      target: {
        type: field === 'external' && value !== undefined ? 'Value' : type,
        value,
        averageValue,
        averageUtilization,
      },
    }
  }) as MetricSpec
}

export function nestedStatus(flat: FlatMetric): MetricStatus {
  return nested(flat, (source, field) => ({
    current: {
      value: source.currentValue,
      averageValue: field === 'object' ? source.averageValue : source.currentAverageValue,
      averageUtilization: source.currentAverageUtilization,
    },
  })) as MetricStatus
}

function nested(flat: FlatMetric, amounts: (source: FlatSource, field: Field) => NestedSource): Nested {
  const metric: Nested = { type: flat.type ?? '' }
  for (const field of FIELDS) {
    const source = flat[field]
    if (!source) continue
    const byName = field === 'resource' || field === 'containerResource'
    metric[field] = {
      ...(byName
        ? { name: source.name ?? '', ...(field === 'containerResource' && { container: source.container ?? '' }) }
        : { metric: identifier(source, field) }),
      ...(field === 'object' && { describedObject: described(source) }),
      ...withoutUndefined(amounts(source, field)),
    }
  }
  return metric
}

function identifier(source: FlatSource, field: Field): MetricIdentifier {
  const selector = field === 'external' ? source.metricSelector : source.selector
  return { name: source.metricName ?? '', ...(selector && { selector }) }
}

function described(source: FlatSource): NonNullable<NestedSource['describedObject']> {
  const { kind = '', name = '', apiVersion } = source.target ?? {}
  return { kind, name, ...(apiVersion !== undefined && { apiVersion }) }
}

/** Absent fields must be absent: objects are compared and serialised. */
const withoutUndefined = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
