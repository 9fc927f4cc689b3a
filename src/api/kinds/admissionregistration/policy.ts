import type {
  MatchCondition,
  MatchResources,
  ParamKind,
  ParamRef,
  Variable,
} from '../../generated/admissionregistration-v1.ts'
import { type FieldError, invalid, notSupported, required, tooMany } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { compileLabelSelector, formatSelector } from '../../meta/label-selector.ts'
import { isPathSegmentName } from '../../meta/names.ts'
import { validateMatchConditions } from './match-conditions.ts'
import { validateMatchResources, validateParamKind, validateParamRef } from './match-resources.ts'

/** What validating and mutating policies share. */
interface PolicySpec {
  failurePolicy?: string
  paramKind?: ParamKind
  matchConstraints?: MatchResources
  matchConditions?: MatchCondition[]
  variables?: Variable[]
}

/** What the bindings of both share. */
interface BindingSpec {
  policyName?: string
  paramRef?: ParamRef
  matchResources?: MatchResources
}

const SPEC = FieldPath.root('spec')
const FAILURE_POLICIES = ['Fail', 'Ignore']
const CEL_IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/
const CEL_RESERVED = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
)

/** Validations, mutations and variables that a policy may have: each takes a while to compile. */
export const MAX_EXPRESSIONS = 500

export function validatePolicySpec(spec: PolicySpec): FieldError[] {
  const errors: FieldError[] = []
  const count = spec.variables?.length ?? 0
  if (count > MAX_EXPRESSIONS) return [tooMany(SPEC.child('variables'), count, MAX_EXPRESSIONS)]
  if (spec.failurePolicy === undefined) errors.push(required(SPEC.child('failurePolicy')))
  else if (!FAILURE_POLICIES.includes(spec.failurePolicy))
    errors.push(notSupported(SPEC.child('failurePolicy'), spec.failurePolicy, FAILURE_POLICIES))
  if (spec.paramKind) errors.push(...validateParamKind(spec.paramKind, SPEC.child('paramKind')))
  const constraints = SPEC.child('matchConstraints')
  if (!spec.matchConstraints) errors.push(required(constraints))
  else {
    errors.push(...validateMatchResources(spec.matchConstraints, constraints))
    if (!spec.matchConstraints.resourceRules?.length) errors.push(required(constraints.child('resourceRules')))
  }
  errors.push(...validateMatchConditions(spec.matchConditions, SPEC.child('matchConditions')))
  spec.variables?.forEach((variable, index) => {
    errors.push(...validateVariable(variable, SPEC.child('variables').index(index)))
  })
  return errors
}

function validateVariable({ name = '', expression = '' }: Variable, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (name.trim() === '') errors.push(required(path.child('name'), 'name is not specified'))
  else if (!CEL_IDENTIFIER.test(name) || CEL_RESERVED.has(name))
    errors.push(invalid(path.child('name'), name, 'must be a valid CEL identifier'))
  if (expression.trim() === '') errors.push(required(path.child('expression'), 'expression is not specified'))
  return errors
}

export function validateBindingSpec(spec: BindingSpec): FieldError[] {
  const name = spec.policyName ?? ''
  const path = SPEC.child('policyName')
  const errors: FieldError[] =
    name === '' ? [required(path)] : isPathSegmentName(name, false).map((message) => invalid(path, name, message))
  if (spec.paramRef) errors.push(...validateParamRef(spec.paramRef, SPEC.child('paramRef')))
  if (spec.matchResources) errors.push(...validateMatchResources(spec.matchResources, SPEC.child('matchResources')))
  return errors
}

export function printedParamKind(kind: ParamKind | undefined): string {
  return kind ? `${kind.apiVersion ?? ''}/${kind.kind ?? ''}` : '<unset>'
}

/** Whether a parameter has a namespace cannot be told from here, hence the star. */
export function printedParamRef(ref: ParamRef | undefined): string {
  if (ref?.name) return `${ref.namespace || '*'}/${ref.name}`
  if (!ref?.selector) return '<unset>'
  try {
    return formatSelector(compileLabelSelector(ref.selector as Parameters<typeof compileLabelSelector>[0]))
  } catch {
    return '<unset>'
  }
}
