import type { LimitRangeItem } from '../../api/generated/core-v1.ts'
import { quantityIn, type ResourceList } from '../../api/kinds/core/pod/resources.ts'
import { compareQuantities, formatQuantity, isZero, milliValue, type Quantity } from '../../api/meta/quantity.ts'

export interface Amounts {
  readonly requests?: ResourceList | undefined
  readonly limits?: ResourceList | undefined
}

type Constraint = (type: string, name: string, enforced: Quantity, amounts: Amounts) => string | undefined

/** What a container or a pod breaks of one item of a LimitRange. */
export function brokenConstraints(item: LimitRangeItem, amounts: Amounts): string[] {
  return [
    ...check(item.type, item.min, amounts, checkMin),
    ...check(item.type, item.max, amounts, checkMax),
    ...check(item.type, item.maxLimitRequestRatio, amounts, checkRatio),
  ]
}

/** What a claim breaks: it has requests only. */
export function brokenClaimConstraints(item: LimitRangeItem, requests: ResourceList | undefined): string[] {
  return [
    ...check(item.type, item.min, { requests }, checkMin),
    ...check(item.type, item.max, { requests }, checkMaxRequest),
  ]
}

function check(type: string, list: ResourceList | undefined, amounts: Amounts, constraint: Constraint): string[] {
  const broken: string[] = []
  for (const name in list) {
    const enforced = quantityIn(list, name)
    const message = enforced && constraint(type, name, enforced, amounts)
    if (message) broken.push(message)
  }
  return broken
}

const checkMin: Constraint = (type, name, enforced, { requests, limits }) => {
  const [request, limit] = [quantityIn(requests, name), quantityIn(limits, name)]
  const rule = `minimum ${name} usage per ${type} is ${formatQuantity(enforced)}`
  if (!request) return `${rule}.  No request is specified`
  if (compareQuantities(request, enforced) < 0) return `${rule}, but request is ${formatQuantity(request)}`
  if (limit && compareQuantities(limit, enforced) < 0) return `${rule}, but limit is ${formatQuantity(limit)}`
  return undefined
}

const checkMax: Constraint = (type, name, enforced, { requests, limits }) => {
  const [request, limit] = [quantityIn(requests, name), quantityIn(limits, name)]
  const rule = `maximum ${name} usage per ${type} is ${formatQuantity(enforced)}`
  if (!limit) return `${rule}.  No limit is specified`
  if (compareQuantities(limit, enforced) > 0) return `${rule}, but limit is ${formatQuantity(limit)}`
  if (request && compareQuantities(request, enforced) > 0) return `${rule}, but request is ${formatQuantity(request)}`
  return undefined
}

const checkMaxRequest: Constraint = (type, name, enforced, { requests }) => {
  const request = quantityIn(requests, name)
  const rule = `maximum ${name} usage per ${type} is ${formatQuantity(enforced)}`
  if (!request) return `${rule}.  No request is specified`
  if (compareQuantities(request, enforced) > 0) return `${rule}, but request is ${formatQuantity(request)}`
  return undefined
}

const checkRatio: Constraint = (type, name, enforced, { requests, limits }) => {
  const [request, limit] = [quantityIn(requests, name), quantityIn(limits, name)]
  const rule = `${name} max limit to request ratio per ${type} is ${formatQuantity(enforced)}`
  if (!request || isZero(request)) return `${rule}, but no request is specified or request is 0`
  if (!limit || isZero(limit)) return `${rule}, but no limit is specified or limit is 0`
  const ratio = milliValue(limit) / milliValue(request)
  return ratio * 1000 > milliValue(enforced) ? `${rule}, but provided ratio is ${ratio.toFixed(6)}` : undefined
}
