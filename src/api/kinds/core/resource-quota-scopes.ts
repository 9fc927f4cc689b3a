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
const EXISTS_ONLY = new Set([
  'BestEffort',
  'NotBestEffort',
  'Terminating',
  'NotTerminating',
  'CrossNamespacePodAffinity',
])

const isKnown = (scope: string) => Object.hasOwn(RESOURCES_OF_SCOPE, scope)

/** Resources of the quota that the scope says nothing about. */
function misfits(spec: ResourceQuotaSpec, scope: string): number {
  const fitting = isKnown(scope) ? RESOURCES_OF_SCOPE[scope] : undefined
  // An unknown scope is reported as such; every resource is let through.
  if (!fitting) return 0
  return Object.keys(spec.hard ?? {}).filter((name) => isStandardQuotaResource(name) && !fitting.has(name)).length
}

function conflicts(scopes: ReadonlySet<string>): number {
  return CONFLICTING.filter(([a, b]) => scopes.has(a) && scopes.has(b)).length
}

export function validateScopes(spec: ResourceQuotaSpec | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const refuse = (message: string) => errors.push(invalid(path, spec?.scopes, message))
  for (const scope of spec?.scopes ?? []) {
    if (!isKnown(scope)) refuse('unsupported scope')
    for (let i = misfits(spec!, scope); i > 0; i--) refuse('unsupported scope applied to resource')
  }
  for (let i = conflicts(new Set(spec?.scopes)); i > 0; i--) refuse('conflicting scopes')
  return errors
}

export function validateScopeSelector(spec: ResourceQuotaSpec | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const expressions = spec?.scopeSelector?.matchExpressions ?? []
  for (const expression of expressions) {
    const scope = expression.scopeName ?? ''
    if (!isKnown(scope)) errors.push(invalid(path.child('scopeName'), scope, 'unsupported scope'))
    for (let i = misfits(spec!, scope); i > 0; i--)
      errors.push(invalid(path, spec?.scopeSelector, 'unsupported scope applied to resource'))
    errors.push(...validateOperator(expression, path))
  }
  const scopes = new Set(expressions.map((expression) => expression.scopeName))
  for (let i = conflicts(scopes); i > 0; i--) errors.push(invalid(path, spec?.scopes, 'conflicting scopes'))
  return errors
}

function validateOperator(expression: ScopedResourceSelectorRequirement, path: FieldPath): FieldError[] {
  const { scopeName, operator = '', values = [] } = expression
  const errors: FieldError[] = []
  if (EXISTS_ONLY.has(scopeName) && operator !== 'Exists')
    errors.push(
      invalid(
        path.child('operator'),
        operator,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      ),
    )
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
    if (values.length === 0) errors.push(required(path.child('values'), detail))
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
    if (values.length > 0) errors.push(invalid(path.child('values'), values, detail))
  } else errors.push(invalid(path.child('operator'), operator, 'not a valid selector operator'))
  return errors
}
