import type { PodSpec, ResourceClaim, ResourceRequirements } from '../../../generated/core-v1.ts'
import { duplicate, type FieldError, forbidden, invalid, notFound, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Label } from '../../../meta/names.ts'
import {
  compareQuantities,
  isNegative,
  milliValue,
  parseQuantity,
  QUANTITY_FORMAT_MESSAGE,
  type Quantity,
  value,
} from '../../../meta/quantity.ts'
import {
  isCountedWhole,
  isHugePages,
  mayExceedRequest,
  validateContainerResourceName,
  validatePodResourceName,
} from '../resource-names.ts'
import { NOT_NEGATIVE, type PodCheck, refuseField } from './pod-check.ts'
import { aggregateLimits, aggregateRequests, parseAmount, quantityIn, type ResourceList } from './resources.ts'

type NameCheck = (name: string, path: FieldPath) => FieldError[]

export function validateContainerResources(check: PodCheck, resources: ResourceRequirements, path: FieldPath): void {
  checkRequirements(resources, path, validateContainerResourceName, check.errors)
  if (resources.claims) checkClaims(check, resources.claims, path.child('claims'))
}

/** What running the pod costs beside its containers; counted like limits. */
export function validateOverhead(overhead: ResourceList, path: FieldPath, errors: FieldError[]): void {
  checkRequirements({ limits: overhead }, path, validateContainerResourceName, errors)
}

/** Resources of the pod as a whole (KEP-2837). */
export function validatePodResources(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  const resources = spec.resources ?? {}
  if (spec.os?.name === 'windows') {
    errors.push(forbidden(path, 'may not be set for a windows pod'))
    return
  }
  if (resources.claims) errors.push(forbidden(path.child('claims'), 'claims may not be set for Resources at pod-level'))
  checkRequirements(resources, path, validatePodResourceName, errors)
  checkAgainstContainers(spec, resources, path, errors)
}

function checkRequirements(
  resources: ResourceRequirements,
  path: FieldPath,
  name: NameCheck,
  errors: FieldError[],
): void {
  const { limits, requests } = resources
  let computes = false
  let hugePages = false
  for (const resource in limits) {
    const at = path.child('limits').key(resource)
    errors.push(...name(resource, at))
    checkQuantity(resource, limits[resource]!, at, errors)
    computes ||= resource === 'cpu' || resource === 'memory'
    hugePages ||= isHugePages(resource)
  }
  for (const resource in requests) {
    const at = path.child('requests').key(resource)
    errors.push(...name(resource, at))
    const quantity = checkQuantity(resource, requests[resource]!, at, errors)
    if (quantity) checkRequestWithinLimit(resource, quantity, requests, limits, path, errors)
    computes ||= resource === 'cpu' || resource === 'memory'
    hugePages ||= isHugePages(resource)
  }
  if (hugePages && !computes) errors.push(forbidden(path, 'HugePages require cpu or memory'))
}

function checkRequestWithinLimit(
  resource: string,
  request: Quantity,
  requests: ResourceList,
  limits: ResourceList | undefined,
  path: FieldPath,
  errors: FieldError[],
): void {
  if (limits?.[resource] === requests[resource]) return
  const limit = quantityIn(limits, resource)
  if (!limit) {
    if (!mayExceedRequest(resource))
      errors.push(required(path.child('limits'), 'Limit must be set for non overcommitable resources'))
    return
  }
  const order = compareQuantities(request, limit)
  if (order === 0) return
  const text = `${resource} limit of ${limits![resource]}`
  const shown = String(requests[resource])
  if (!mayExceedRequest(resource)) errors.push(invalid(path.child('requests'), shown, `must be equal to ${text}`))
  else if (order > 0) errors.push(invalid(path.child('requests'), shown, `must be less than or equal to ${text}`))
}

/** The parsed quantity, or undefined with the error told. */
function checkQuantity(
  resource: string,
  amount: string | number,
  path: FieldPath,
  errors: FieldError[],
): Quantity | undefined {
  const text = String(amount)
  const quantity = parseAmount(text)
  if (!quantity) {
    errors.push(invalid(path, text, QUANTITY_FORMAT_MESSAGE))
    return undefined
  }
  if (isNegative(quantity)) errors.push(invalid(path, text, NOT_NEGATIVE))
  if (isCountedWhole(resource) && milliValue(quantity) % 1000 !== 0)
    errors.push(invalid(path, text, 'must be an integer'))
  if (isHugePages(resource) && !isMultipleOfPage(resource, quantity))
    errors.push(invalid(path, text, `${text} is not positive integer multiple of ${resource}`))
  return quantity
}

function isMultipleOfPage(resource: string, quantity: Quantity): boolean {
  const page = parseQuantity(resource.slice('hugepages-'.length))
  if (!page || value(page) <= 0) return false
  return value(quantity) >= 0 && value(quantity) % value(page) === 0
}

function checkAgainstContainers(
  spec: PodSpec,
  resources: ResourceRequirements,
  path: FieldPath,
  errors: FieldError[],
): void {
  for (const [resource, sum] of aggregateRequests(spec))
    checkCovers('requests', resource, sum, resources.requests, path, errors)
  for (const [resource, sum] of aggregateLimits(spec))
    if (isHugePages(resource)) checkCovers('limits', resource, sum, resources.limits, path, errors)
  spec.containers.forEach((container) => {
    for (const resource in container.resources?.limits) {
      const ofContainer = quantityIn(container.resources.limits, resource)
      const ofPod = quantityIn(resources.limits, resource)
      if (ofContainer && ofPod && compareQuantities(ofContainer, ofPod) > 0)
        errors.push(
          invalid(
            path.child('limits').key(resource),
            String(container.resources.limits![resource]),
            `must be less than or equal to pod limits of ${resources.limits![resource]}`,
          ),
        )
    }
  })
}

function checkCovers(
  field: 'requests' | 'limits',
  resource: string,
  sum: string,
  list: ResourceList | undefined,
  path: FieldPath,
  errors: FieldError[],
): void {
  const ofPod = quantityIn(list, resource)
  const ofContainers = parseQuantity(sum)
  if (!ofPod || !ofContainers || compareQuantities(ofContainers, ofPod) <= 0) return
  const text = `must be greater than or equal to aggregate container ${field} of ${sum}`
  errors.push(invalid(path.child(field).key(resource), String(list![resource]), text))
}

/** Claims of the pod that a container uses; a whole claim, or single requests of it, each once. */
function checkClaims(check: PodCheck, claims: readonly ResourceClaim[], path: FieldPath): void {
  const { errors } = check
  const used = new Set<string>()
  const usedInPart = new Set<string>()
  claims.forEach((claim, i) => {
    const at = path.index(i)
    const { name = '', request } = claim
    if (name === '') {
      errors.push(required(at))
      return
    }
    const key = request ? `${name}/${request}` : name
    const overlaps = used.has(name) || used.has(key) || (!request && usedInPart.has(name))
    if (overlaps) errors.push(duplicate(at, key))
    else if (request) refuseField(errors, at, 'request', request, isDns1123Label(request))
    used.add(key)
    if (request) usedInPart.add(name)
    if (!check.resourceClaims.has(name)) errors.push(notFound(at, name))
  })
}
