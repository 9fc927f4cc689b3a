import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  DeviceSelector,
  DeviceSubRequest,
  ExactDeviceRequest,
  OpaqueDeviceConfiguration,
} from '../../generated/resource-v1.ts'
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { isDns1123Label, nameIsDnsSubdomain } from '../../meta/names.ts'
import { seenBefore } from '../../meta/seen-before.ts'
import { validateCsiDriverName } from '../core/persistent-volume/sources.ts'

/** What devices a claim asks for: requests, constraints among them, and configuration for their drivers. */

const MAX_REQUESTS = 32
const MAX_FIRST_AVAILABLE = 8
const MAX_EXPRESSION = 10 * 1024
const MODES = ['All', 'ExactCount']
const NOT_A_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"

export function defaultDeviceClaim(claim: DeviceClaim | undefined): void {
  for (const request of claim?.requests ?? []) {
    if (request.exactly) defaultCount(request.exactly)
    for (const option of request.firstAvailable ?? []) defaultCount(option)
  }
}

function defaultCount(request: ExactDeviceRequest | DeviceSubRequest): void {
  request.allocationMode ||= 'ExactCount'
  if (request.allocationMode === 'ExactCount') request.count ||= 1
  for (const toleration of request.tolerations ?? []) toleration.operator ||= 'Equal'
}

export function validateDeviceClaim(claim: DeviceClaim | undefined, path: FieldPath): FieldError[] {
  const requests = claim?.requests ?? []
  const errors = atMost(requests, MAX_REQUESTS, path.child('requests'))
  errors.push(...uniqueNames(requests, path.child('requests')))
  requests.forEach((request, index) => {
    errors.push(...validateRequest(request, path.child('requests').index(index)))
  })
  const known = requestNames(requests)
  const constraints = claim?.constraints ?? []
  errors.push(...atMost(constraints, MAX_REQUESTS, path.child('constraints')))
  constraints.forEach((constraint, index) => {
    errors.push(...validateConstraint(constraint, known, path.child('constraints').index(index)))
  })
  const config = claim?.config ?? []
  errors.push(...atMost(config, MAX_REQUESTS, path.child('config')))
  config.forEach(({ requests: names = [], opaque }, index) => {
    const at = path.child('config').index(index)
    errors.push(...validateReferences(names, known, at.child('requests')))
    errors.push(...validateOpaque(opaque, at.child('opaque')))
  })
  return errors
}

const atMost = (list: readonly unknown[], maximum: number, path: FieldPath): FieldError[] =>
  list.length > maximum ? [tooMany(path, list.length, maximum)] : []

function uniqueNames(list: readonly { name?: string }[], path: FieldPath): FieldError[] {
  const seen = new Set<string>()
  const errors: FieldError[] = []
  list.forEach(({ name = '' }, index) => {
    if (seen.has(name)) errors.push(duplicate(path.index(index), name))
    seen.add(name)
  })
  return errors
}

function requestNames(requests: readonly DeviceRequest[]): Set<string> {
  const names = new Set<string>()
  for (const { name, firstAvailable } of requests) {
    names.add(name)
    for (const option of firstAvailable ?? []) names.add(`${name}/${option.name}`)
  }
  return names
}

function validateRequest(request: DeviceRequest, path: FieldPath): FieldError[] {
  const errors = validateRequestName(request.name ?? '', path.child('name'))
  const options = request.firstAvailable ?? []
  const choice = 'exactly one of `exactly` or `firstAvailable` is required'
  if (!request.exactly && options.length === 0) errors.push(required(path, choice))
  else if (request.exactly && options.length > 0)
    errors.push(invalid(path, null, `${choice}, but multiple fields are set`))
  else if (request.exactly) errors.push(...validateExact(request.exactly, path.child('exactly')))
  errors.push(...atMost(options, MAX_FIRST_AVAILABLE, path.child('firstAvailable')))
  errors.push(...uniqueNames(options, path.child('firstAvailable')))
  options.forEach((option, index) => {
    const at = path.child('firstAvailable').index(index)
    errors.push(...validateRequestName(option.name ?? '', at.child('name')), ...validateExact(option, at))
  })
  return errors
}

function validateRequestName(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [required(path)]
  return isDns1123Label(name).map((message) => invalid(path, name, message))
}

function validateExact(request: ExactDeviceRequest | DeviceSubRequest, path: FieldPath): FieldError[] {
  const { deviceClassName = '', allocationMode = '', count = 0 } = request
  const at = path.child('deviceClassName')
  const errors: FieldError[] =
    deviceClassName === ''
      ? [required(at)]
      : nameIsDnsSubdomain(deviceClassName, false).map((message) => invalid(at, deviceClassName, message))
  errors.push(...validateSelectors(request.selectors ?? [], path.child('selectors')))
  if (!MODES.includes(allocationMode)) errors.push(notSupported(path.child('allocationMode'), allocationMode, MODES))
  else if (allocationMode === 'All' && count !== 0)
    errors.push(invalid(path.child('count'), count, "must not be specified when allocationMode is 'All'"))
  else if (allocationMode === 'ExactCount' && count <= 0)
    errors.push(invalid(path.child('count'), count, 'must be greater than zero'))
  return errors
}

export function validateSelectors(selectors: readonly DeviceSelector[], path: FieldPath): FieldError[] {
  const errors = atMost(selectors, MAX_REQUESTS, path)
  selectors.forEach(({ cel }, index) => {
    const at = path.index(index).child('cel')
    const expression = cel?.expression ?? ''
    if (!cel) errors.push(required(at))
    else if (expression === '') errors.push(required(at.child('expression')))
    else if (Buffer.byteLength(expression) > MAX_EXPRESSION)
      errors.push(tooLong(at.child('expression'), MAX_EXPRESSION))
  })
  return errors
}

function validateConstraint(constraint: DeviceConstraint, known: ReadonlySet<string>, path: FieldPath): FieldError[] {
  const errors = validateReferences(constraint.requests ?? [], known, path.child('requests'))
  const { matchAttribute, distinctAttribute } = constraint
  if (matchAttribute === undefined && distinctAttribute === undefined)
    errors.push(required(path.child('matchAttribute')))
  return errors
}

function validateReferences(names: readonly string[], known: ReadonlySet<string>, path: FieldPath): FieldError[] {
  const isRepeated = seenBefore<string>()
  return names.flatMap((name, index) => {
    if (!known.has(name)) return [invalid(path.index(index), name, NOT_A_REQUEST)]
    return isRepeated(name) ? [duplicate(path.index(index), name)] : []
  })
}

export function validateOpaque(config: OpaqueDeviceConfiguration | undefined, path: FieldPath): FieldError[] {
  if (!config) return [required(path)]
  const errors = validateCsiDriverName(config.driver ?? '', path.child('driver'))
  const { parameters } = config
  if (parameters === undefined || parameters === null) errors.push(required(path.child('parameters')))
  else if (typeof parameters !== 'object' || Array.isArray(parameters))
    errors.push(invalid(path.child('parameters'), '<value omitted>', 'must be a valid JSON object'))
  return errors
}
