import type { NamedRuleWithOperations, RuleWithOperations } from '../../generated/admissionregistration-v1.ts'
import { duplicate, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { isPathSegmentName } from '../../meta/names.ts'
import { seenBefore } from '../../meta/seen-before.ts'

/** Which requests a webhook or policy wants to see. */

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const SCOPES = ['*', 'Cluster', 'Namespaced']

export function defaultRules(rules: readonly RuleWithOperations[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= '*'
}

export function validateRule(rule: RuleWithOperations, path: FieldPath): FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule
  const errors = loneWildcard(operations, path.child('operations'), 'operations')
  operations.forEach((operation, index) => {
    if (!OPERATIONS.includes(operation))
      errors.push(notSupported(path.child('operations').index(index), operation, OPERATIONS))
  })
  errors.push(...loneWildcard(apiGroups, path.child('apiGroups'), 'API groups'))
  errors.push(...loneWildcard(apiVersions, path.child('apiVersions'), 'API versions'))
  apiVersions.forEach((version, index) => {
    if (version === '') errors.push(required(path.child('apiVersions').index(index)))
  })
  errors.push(...validateResources(resources, path.child('resources')))
  if (scope !== undefined && !SCOPES.includes(scope)) errors.push(notSupported(path.child('scope'), scope, SCOPES))
  return errors
}

function loneWildcard(values: readonly string[], path: FieldPath, what: string): FieldError[] {
  if (values.length === 0) return [required(path)]
  return values.length > 1 && values.includes('*')
    ? [invalid(path, values, `if '*' is present, must not specify other ${what}`)]
    : []
}

// `pods`, `pods/log`, `pods/*`, `*/log` and so on; what an earlier wildcard covers must not come again.
function validateResources(resources: readonly string[], path: FieldPath): FieldError[] {
  if (resources.length === 0) return [required(path)]
  const errors: FieldError[] = []
  const wholeResources = new Set<string>()
  const wholeSubresources = new Set<string>()
  resources.forEach((text, index) => {
    if (text === '') errors.push(required(path.index(index)))
    const slash = text.indexOf('/')
    if (slash < 0 || text === '*/*') return
    const [resource, subresource] = [text.slice(0, slash), text.slice(slash + 1)]
    if (wholeResources.has(resource))
      errors.push(invalid(path.index(index), text, `if '${resource}/*' is present, must not specify ${text}`))
    if (wholeSubresources.has(subresource))
      errors.push(invalid(path.index(index), text, `if '*/${subresource}' is present, must not specify ${text}`))
    if (subresource === '*') wholeResources.add(resource)
    if (resource === '*') wholeSubresources.add(subresource)
  })
  if (resources.length > 1 && resources.includes('*/*'))
    errors.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
  if (resources.includes('*') && resources.some((text) => text !== '*' && !text.includes('/'))) {
    const message = "if '*' is present, must not specify other resources without subresources"
    errors.push(invalid(path, resources, message))
  }
  return errors
}

export function validateNamedRule(rule: NamedRuleWithOperations, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const names = rule.resourceNames ?? []
  const isRepeated = seenBefore<string>()
  names.forEach((name, index) => {
    const at = path.child('resourceNames').index(index)
    for (const message of isPathSegmentName(name, false)) errors.push(invalid(at, name, message))
    if (isRepeated(name)) errors.push(duplicate(at, name))
  })
  return [...errors, ...validateRule(rule, path)]
}
