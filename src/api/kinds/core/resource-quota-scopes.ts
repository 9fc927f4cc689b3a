import type { ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../../generated/core-v1.ts'
import { type FieldError, invalid, required } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { isStandardQuotaResource } from './resource-names.ts'

const POD_RESOURCES = new Set([
  'pods',
  'cpu',
  'memory',
  'limits.cpu',
  'limits.memory',
  'requests.cpu',
  'requests.memory',
])
const CLAIM_RESOURCES = new Set(['persistentvolumeclaims', 'requests.storage'])

/** Which of the standard resources each scope can narrow. */
const RESOURCES_OF_SCOPE: Readonly<Record<string, ReadonlySet<string>>> = {
  Terminating: POD_RESOURCES,
  NotTerminating: POD_RESOURCES,
  BestEffort: new Set(['pods']),
  NotBestEffort: POD_RESOURCES,
  PriorityClass: POD_RESOURCES,
  CrossNamespacePodAffinity: POD_RESOURCES,
  VolumeAttributesClass: CLAIM_RESOURCES,
}
const CONFLICTING = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const
/** Scopes with a value to compare; all others are there or not. */
const VALUED = new Set(['PriorityClass', 'VolumeAttributesClass'])
const EXISTS_ONLY =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
/** Whether the operator of a selector goes with values. */
const TAKES_VALUES: Readonly<Record<string, boolean>> = { In: true, NotIn: true, Exists: false, DoesNotExist: false }

const isKnown = (scope: string) => Object.hasOwn(RESOURCES_OF_SCOPE, scope)
const resourcesOf = (scope: string) => (isKnown(scope) ? RESOURCES_OF_SCOPE[scope] : undefined)

/** One error for each resource of the quota that a scope says nothing about; an unknown scope is told by itself. */
const misfits = ({ hard = {} }: ResourceQuotaSpec, scope: string, error: FieldError): FieldError[] =>
  Object.keys(hard)
    .filter((name) => isStandardQuotaResource(name) && resourcesOf(scope)?.has(name) === false)
    .map(() => error)

const conflicts = (scopes: readonly string[], error: FieldError): FieldError[] =>
  CONFLICTING.filter((pair) => pair.every((scope) => scopes.includes(scope))).map(() => error)

export function validateScopes(spec: ResourceQuotaSpec = {}, path: FieldPath): FieldError[] {
  const { scopes = [] } = spec
  const error = (message: string) => invalid(path, scopes, message)
  const ofEach = scopes.flatMap((scope) => [
    ...(isKnown(scope) ? [] : [error('unsupported scope')]),
    ...misfits(spec, scope, error('unsupported scope applied to resource')),
  ])
  return [...ofEach, ...conflicts(scopes, error('conflicting scopes'))]
}

export function validateScopeSelector(spec: ResourceQuotaSpec = {}, path: FieldPath): FieldError[] {
  const { scopeSelector } = spec
  const requirements = scopeSelector?.matchExpressions ?? []
  const ofEach = requirements.flatMap((requirement) => [
    ...unknownScope(requirement, path),
    ...misfits(spec, requirement.scopeName, invalid(path, scopeSelector, 'unsupported scope applied to resource')),
    ...wrongOperator(requirement, path),
  ])
  const scopes = requirements.map(({ scopeName }) => scopeName)
  return [...ofEach, ...conflicts(scopes, invalid(path, spec.scopes, 'conflicting scopes'))]
}

const unknownScope = ({ scopeName = '' }: ScopedResourceSelectorRequirement, path: FieldPath): FieldError[] =>
  isKnown(scopeName) ? [] : [invalid(path.child('scopeName'), scopeName, 'unsupported scope')]

function wrongOperator(requirement: ScopedResourceSelectorRequirement, path: FieldPath): FieldError[] {
  const { scopeName, operator = '', values = [] } = requirement
  const at = path.child('operator')
  const errors: FieldError[] = []
  if (isKnown(scopeName) && !VALUED.has(scopeName) && operator !== 'Exists')
    errors.push(invalid(at, operator, EXISTS_ONLY))
  const takesValues = Object.hasOwn(TAKES_VALUES, operator) ? TAKES_VALUES[operator] : undefined
  if (takesValues === undefined) errors.push(invalid(at, operator, 'not a valid selector operator'))
  else if (takesValues !== values.length > 0) errors.push(wrongValues(takesValues, values, path.child('values')))
  return errors
}

const wrongValues = (takesValues: boolean, values: readonly string[], path: FieldPath): FieldError =>
  takesValues
    ? required(path, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
    : invalid(path, values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
