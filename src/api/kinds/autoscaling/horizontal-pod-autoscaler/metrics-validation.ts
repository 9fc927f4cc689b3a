import type {
  CrossVersionObjectReference,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
} from '../../../generated/autoscaling-v2.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Label, isPathSegmentName } from '../../../meta/names.ts'
import { isNegative, isZero, parseQuantity } from '../../../meta/quantity.ts'
import { refuseField } from '../../core/pod/pod-check.ts'
import { validateContainerResourceName } from '../../core/resource-names.ts'

/** What a metric of each type carries, in the field of that name. */
const SOURCES = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
} as const
const TYPES = Object.keys(SOURCES)
type Field = (typeof SOURCES)[keyof typeof SOURCES]

export function validateMetric(metric: MetricSpec, path: FieldPath, errors: FieldError[]): void {
  const { type = '' } = metric
  if (type === '') {
    errors.push(required(path.child('type'), 'must specify a metric source type'))
    return
  }
  if (!Object.hasOwn(SOURCES, type)) {
    errors.push(notSupported(path.child('type'), type, TYPES))
    return
  }
  const expected = SOURCES[type as keyof typeof SOURCES]
  if (metric[expected]) checkSource(metric, expected, path.child(expected), errors)
  else errors.push(required(path.child(expected), 'must populate information for the given metric source'))
  for (const field of Object.values(SOURCES))
    if (field !== expected && metric[field])
      errors.push(forbidden(path.child(field), 'must populate the given metric source only'))
}

type Amount = 'value' | 'averageValue' | 'averageUtilization'

/** Which amounts a source understands, and what to say, of which field, if none or too many are set. */
interface Amounts {
  readonly of: readonly Amount[]
  readonly none: readonly [Amount, string]
  readonly both?: readonly [Amount, string]
}

const OF_RESOURCE: Amounts = {
  of: ['averageUtilization', 'averageValue'],
  none: ['averageUtilization', 'must set either a target raw value or a target utilization'],
  both: ['averageValue', 'may not set both a target raw value and a target utilization'],
}
const AMOUNTS: Readonly<Record<Field, Amounts>> = {
  object: { of: ['value', 'averageValue'], none: ['averageValue', 'must set either a target value or averageValue'] },
  pods: { of: ['averageValue'], none: ['averageValue', 'must specify a positive target averageValue'] },
  external: {
    of: ['value', 'averageValue'],
    none: ['averageValue', 'must set either a target value for metric or a per-pod target'],
    both: ['value', 'may not set both a target value for metric and a per-pod target'],
  },
  resource: OF_RESOURCE,
  containerResource: OF_RESOURCE,
}

function checkSource(metric: MetricSpec, field: Field, path: FieldPath, errors: FieldError[]): void {
  const target = metric[field]?.target ?? ({} as MetricTarget)
  const at = path.child('target')
  if (field === 'object')
    validateObjectReference(metric.object?.describedObject, true, path.child('describedObject'), errors)
  if (field === 'resource' || field === 'containerResource') checkResourceName(metric, field, path, errors)
  else checkIdentifier(metric[field]?.metric, path.child('metric'), errors)
  checkTarget(target, at, errors)
  const { of, none, both } = AMOUNTS[field]
  const given = of.filter((amount) => target[amount] !== undefined).length
  if (given === 0) errors.push(required(at.child(none[0]), none[1]))
  if (given > 1 && both) errors.push(forbidden(at.child(both[0]), both[1]))
}

function checkResourceName(
  metric: MetricSpec,
  field: 'resource' | 'containerResource',
  path: FieldPath,
  errors: FieldError[],
): void {
  const name = metric[field]?.name
  if (!name) errors.push(required(path.child('name'), 'must specify a resource name'))
  if (field === 'resource') return
  if (name) errors.push(...validateContainerResourceName(name, path.child('name')))
  const container = metric.containerResource?.container
  if (!container) errors.push(required(path.child('container'), 'must specify a container'))
  else refuseField(errors, path, 'container', container, isDns1123Label(container))
}

function checkTarget(target: MetricTarget, path: FieldPath, errors: FieldError[]): void {
  const { type = '', averageUtilization } = target
  if (type === '') errors.push(required(path.child('type'), 'must specify a metric target type'))
  if (type !== 'Utilization' && type !== 'Value' && type !== 'AverageValue')
    errors.push(invalid(path.child('type'), type, 'must be either Utilization, Value, or AverageValue'))
  for (const field of ['value', 'averageValue'] as const)
    if (target[field] !== undefined && !isPositive(target[field]))
      errors.push(invalid(path.child(field), String(target[field]), 'must be positive'))
  if (averageUtilization !== undefined && averageUtilization < 1)
    errors.push(invalid(path.child('averageUtilization'), averageUtilization, 'must be greater than 0'))
}

function isPositive(value: string | number): boolean {
  const quantity = parseQuantity(String(value))
  return quantity !== undefined && !isZero(quantity) && !isNegative(quantity)
}

function checkIdentifier(metric: MetricIdentifier | undefined, path: FieldPath, errors: FieldError[]): void {
  if (!metric?.name) errors.push(required(path.child('name'), 'must specify a metric name'))
  else refuseField(errors, path, 'name', metric.name, isPathSegmentName(metric.name, false))
}

/** The object to scale or to measure. Without its group it could be several things. */
export function validateObjectReference(
  reference: CrossVersionObjectReference | undefined,
  mayLackGroup: boolean,
  path: FieldPath,
  errors: FieldError[],
): void {
  const { kind = '', name = '', apiVersion = '' } = reference ?? {}
  for (const [field, value] of [
    ['kind', kind],
    ['name', name],
  ] as const) {
    if (value === '') errors.push(required(path.child(field)))
    else refuseField(errors, path, field, value, isPathSegmentName(value, false))
  }
  const at = path.child('apiVersion')
  if (apiVersion.split('/').length > 2)
    errors.push(invalid(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`))
  else if (!mayLackGroup && !apiVersion.includes('/'))
    errors.push(invalid(at, apiVersion, 'apiVersion must specify API group'))
}
