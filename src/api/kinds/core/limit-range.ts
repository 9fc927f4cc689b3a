import type { LimitRange, LimitRangeItem } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { duplicate, type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isQualifiedName } from '../../meta/names.ts'
import { compareQuantities, formatQuantity, milliValue, type Quantity, quantityOf } from '../../meta/quantity.ts'
import { canonicalizeResources, quantityIn } from './resource-list.ts'
import { mayExceedRequest, validateContainerResourceName, validateResourceName } from './resource-names.ts'

const LIMITS = FieldPath.root('spec').child('limits')
const STANDARD_TYPES = new Set(['Pod', 'Container', 'PersistentVolumeClaim'])
const LISTS = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const
const ONE = quantityOf(1)

export const limitRangeKind = defineKind<LimitRange>({
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  plural: 'limitranges',
  shortNames: ['limits'],
  schema: 'io.k8s.api.core.v1.LimitRange',
  createOnUpdate: true,
  defaults,
  validate,
})

function defaults(draft: LimitRange): void {
  for (const item of draft.spec?.limits ?? []) {
    if (item.type === 'Container') defaultContainerLimits(item)
    for (const list of LISTS) canonicalizeResources(item[list])
  }
}

/** A default limit falls back to the maximum; a default request to the default limit, then to the minimum. */
function defaultContainerLimits(item: LimitRangeItem): void {
  const limits = { ...item.max, ...item.default }
  const requests = { ...item.min, ...limits, ...item.defaultRequest }
  item.default = limits
  item.defaultRequest = requests
}

function validate(limitRange: LimitRange): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  limitRange.spec?.limits?.forEach((item, index) => {
    const path = LIMITS.index(index)
    errors.push(...validateType(item.type ?? '', path.child('type')))
    if (seen.has(item.type)) errors.push(duplicate(path.child('type'), item.type))
    seen.add(item.type)
    errors.push(...validateItem(item, path))
  })
  return errors
}

function validateType(type: string, path: FieldPath): FieldError[] {
  const messages = isQualifiedName(type)
  if (messages.length === 0 && !type.includes('/') && !STANDARD_TYPES.has(type))
    messages.push('must be a standard limit type or fully qualified')
  return messages.map((message) => invalid(path, type, message))
}

function validateItem(item: LimitRangeItem, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const checkName =
    item.type === 'Pod' || item.type === 'Container' ? validateContainerResourceName : validateResourceName
  for (const list of LISTS) for (const name in item[list]) errors.push(...checkName(name, path.child(list).key(name)))
  if (item.type === 'Pod') errors.push(...forbidPodDefaults(item, path))
  if (item.type === 'PersistentVolumeClaim' && item.min?.storage === undefined && item.max?.storage === undefined)
    errors.push(
      required(path.child('limits'), 'either minimum or maximum storage value is required, but neither was provided'),
    )
  const names = new Set(LISTS.flatMap((list) => Object.keys(item[list] ?? {})))
  for (const name of names) errors.push(...validateAmounts(item, name, path))
  return errors
}

function forbidPodDefaults(item: LimitRangeItem, path: FieldPath): FieldError[] {
  return (['default', 'defaultRequest'] as const)
    .filter((list) => Object.keys(item[list] ?? {}).length > 0)
    .map((list) => forbidden(path.child(list), "may not be specified when `type` is 'Pod'"))
}

/** One row per order that must hold: lower list, its word, upper list, its word, and the field that is named. */
const ORDERS = [
  ['min', 'min', 'max', 'max', 'min', 'lower'],
  ['min', 'min', 'defaultRequest', 'default request', 'defaultRequest', 'upper'],
  ['defaultRequest', 'default request', 'max', 'max', 'defaultRequest', 'lower'],
  ['defaultRequest', 'default request', 'default', 'default limit', 'defaultRequest', 'lower'],
  ['min', 'min', 'default', 'default', 'default', 'lower'],
  ['default', 'default', 'max', 'max', 'default', 'upper'],
] as const

function validateAmounts(item: LimitRangeItem, name: string, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  for (const [low, lowWord, high, highWord, field, shown] of ORDERS) {
    const lower = quantityIn(item[low], name)
    const upper = quantityIn(item[high], name)
    if (!lower || !upper || compareQuantities(lower, upper) <= 0) continue
    const [lowText, highText] = [formatQuantity(lower), formatQuantity(upper)]
    const message = `${lowWord} value ${lowText} is greater than ${highWord} value ${highText}`
    errors.push(invalid(path.child(field).key(name), shown === 'lower' ? lowText : highText, message))
  }
  errors.push(...validateRatio(item, name, path.child('maxLimitRequestRatio').key(name)))
  const [limit, request] = [quantityIn(item.default, name), quantityIn(item.defaultRequest, name)]
  if (limit && request && !mayExceedRequest(name) && compareQuantities(limit, request) !== 0) {
    const message = `default value ${formatQuantity(limit)} must equal to defaultRequest value ${formatQuantity(request)} in ${name}`
    errors.push(invalid(path.child('defaultRequest').key(name), formatQuantity(request), message))
  }
  return errors
}

function validateRatio(item: LimitRangeItem, name: string, path: FieldPath): FieldError[] {
  const ratio = quantityIn(item.maxLimitRequestRatio, name)
  if (!ratio) return []
  const text = formatQuantity(ratio)
  const errors: FieldError[] = []
  if (compareQuantities(ratio, ONE) < 0) errors.push(invalid(path, text, `ratio ${text} is less than 1`))
  const bound = largestRatio(quantityIn(item.min, name), quantityIn(item.max, name))
  if (milliValue(ratio) / 1000 > bound)
    errors.push(invalid(path, text, `ratio ${text} is greater than max/min = ${bound.toFixed(6)}`))
  return errors
}

function largestRatio(min: Quantity | undefined, max: Quantity | undefined): number {
  return min && max ? milliValue(max) / milliValue(min) : Number.POSITIVE_INFINITY
}
