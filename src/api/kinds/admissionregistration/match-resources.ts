import type { MatchResources, ParamKind, ParamRef } from '../../generated/admissionregistration-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { validateLabelSelector } from '../../meta/label-selector.ts'
import { isDns1035Label, isDns1123Subdomain, isPathSegmentName } from '../../meta/names.ts'
import { parseApiVersion } from '../../meta/object.ts'
import { defaultRules, validateNamedRule } from './rules.ts'

const MATCH_POLICIES = ['Equivalent', 'Exact']
const NOT_FOUND_ACTIONS = ['Deny', 'Allow']
const MUTATING_OPERATIONS = ['*', 'CONNECT', 'CREATE', 'UPDATE']

export function defaultMatchResources(match: MatchResources | undefined): void {
  if (!match) return
  match.matchPolicy ??= 'Equivalent'
  match.namespaceSelector ??= {}
  match.objectSelector ??= {}
  defaultRules(match.resourceRules)
  defaultRules(match.excludeResourceRules)
}

export function validateMatchResources(match: MatchResources, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (match.matchPolicy === undefined) errors.push(required(path.child('matchPolicy')))
  else if (!MATCH_POLICIES.includes(match.matchPolicy))
    errors.push(notSupported(path.child('matchPolicy'), match.matchPolicy, MATCH_POLICIES))
  for (const field of ['namespaceSelector', 'objectSelector'] as const) {
    if (match[field] === undefined) errors.push(required(path.child(field)))
    errors.push(...validateLabelSelector(match[field], path.child(field)))
  }
  for (const field of ['resourceRules', 'excludeResourceRules'] as const)
    match[field]?.forEach((rule, index) => {
      errors.push(...validateNamedRule(rule, path.child(field).index(index)))
    })
  return errors
}

/** Nothing can be mutated that is about to go. */
export function validateMutatingOperations(match: MatchResources | undefined, path: FieldPath): FieldError[] {
  return (match?.resourceRules ?? [])
    .flatMap((rule) => rule.operations ?? [])
    .filter((operation) => !MUTATING_OPERATIONS.includes(operation))
    .map((operation) => notSupported(path.child('resourceRules', 'operations'), operation, MUTATING_OPERATIONS))
}

export function validateParamKind(kind: ParamKind, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const apiVersion = kind.apiVersion ?? ''
  if (apiVersion === '') errors.push(required(path.child('apiVersion')))
  else errors.push(...validateApiVersion(apiVersion, path.child('apiVersion')))
  if (!kind.kind) return [...errors, required(path.child('kind'))]
  const wrong = isDns1035Label(kind.kind.toLowerCase())
  if (wrong.length > 0) {
    const message = `may have mixed case, but should otherwise match: ${wrong.join(',')}`
    errors.push(invalid(path.child('kind'), kind.kind, message))
  }
  return errors
}

function validateApiVersion(apiVersion: string, path: FieldPath): FieldError[] {
  const { group, version } = parseApiVersion(apiVersion)
  const errors: FieldError[] = []
  const wrongGroup = group === '' ? [] : isDns1123Subdomain(group)
  if (wrongGroup.length > 0) errors.push(invalid(path, group, wrongGroup.join(',')))
  if (version === '') return [...errors, invalid(path, apiVersion, 'version must be specified')]
  const wrongVersion = isDns1035Label(version)
  if (wrongVersion.length > 0) errors.push(invalid(path, version, wrongVersion.join(',')))
  return errors
}

export function validateParamRef(ref: ParamRef, path: FieldPath): FieldError[] {
  const exclusive = 'name and selector are mutually exclusive'
  const errors: FieldError[] = []
  if (ref.name) {
    for (const message of isPathSegmentName(ref.name, false))
      errors.push(invalid(path.child('name'), ref.name, message))
    if (ref.selector) errors.push(forbidden(path.child('name'), exclusive))
  }
  errors.push(...validateLabelSelector(ref.selector, path.child('selector')))
  if (ref.selector && ref.name) errors.push(forbidden(path.child('selector'), exclusive))
  if (!ref.selector && !ref.name) errors.push(required(path, 'one of name or selector must be specified'))
  const action = ref.parameterNotFoundAction
  if (!action) errors.push(required(path.child('parameterNotFoundAction')))
  else if (!NOT_FOUND_ACTIONS.includes(action))
    errors.push(notSupported(path.child('parameterNotFoundAction'), action, NOT_FOUND_ACTIONS))
  return errors
}
