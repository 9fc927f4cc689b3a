import type {
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '../../generated/flowcontrol-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { nameIsDnsLabel, nameIsDnsSubdomain } from '../../meta/names.ts'

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']
/** The field of a subject that carries its name, by the subject's kind. */
const SUBJECT_FIELDS = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const

export function validateFlowSchemaRule(rule: PolicyRulesWithSubjects, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (!rule.subjects?.length) errors.push(required(path.child('subjects'), 'subjects must contain at least one value'))
  rule.subjects?.forEach((subject, index) => {
    errors.push(...validateSubject(subject, path.child('subjects').index(index)))
  })
  if (!rule.resourceRules?.length && !rule.nonResourceRules?.length)
    errors.push(required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'))
  rule.resourceRules?.forEach((resources, index) => {
    errors.push(...validateResourceRule(resources, path.child('resourceRules').index(index)))
  })
  rule.nonResourceRules?.forEach((urls, index) => {
    errors.push(...validateUrlRule(urls, path.child('nonResourceRules').index(index)))
  })
  return errors
}

function validateSubject(subject: Subject, path: FieldPath): FieldError[] {
  const kind = subject.kind ?? ''
  if (!Object.hasOwn(SUBJECT_FIELDS, kind))
    return [notSupported(path.child('kind'), kind, Object.keys(SUBJECT_FIELDS).sort())]
  const errors: FieldError[] = []
  for (const [ofKind, field] of Object.entries(SUBJECT_FIELDS)) {
    const at = path.child(field)
    if (ofKind !== kind) {
      const message = `${field} is forbidden when subject kind is not '${ofKind}'`
      if (subject[field] !== undefined) errors.push(forbidden(at, message))
    } else if (subject[field] === undefined)
      errors.push(required(at, `${field} is required when subject kind is '${kind}'`))
    else if (!subject[field].name) errors.push(required(at.child('name')))
    else if (field === 'serviceAccount') errors.push(...validateServiceAccount(subject.serviceAccount!, at))
  }
  return errors
}

function validateServiceAccount(account: NonNullable<Subject['serviceAccount']>, path: FieldPath): FieldError[] {
  const { name, namespace } = account
  const errors: FieldError[] = []
  if (name !== '*')
    for (const message of nameIsDnsSubdomain(name, false)) errors.push(invalid(path.child('name'), name, message))
  if (!namespace) errors.push(required(path.child('namespace'), 'must specify namespace for service account'))
  else
    for (const message of nameIsDnsLabel(namespace, false))
      errors.push(invalid(path.child('namespace'), namespace, message))
  return errors
}

/** `*` stands alone or not at all. */
function loneWildcard(values: readonly string[], path: FieldPath, what: string): FieldError[] {
  return values.length > 1 && values.includes('*')
    ? [invalid(path, values, `if '*' is present, must not specify other ${what}`)]
    : []
}

function validateVerbs(verbs: readonly string[] | undefined, path: FieldPath): FieldError[] {
  if (!verbs?.length) return [required(path, 'verbs must contain at least one value')]
  if (verbs.includes('*')) return loneWildcard(verbs, path, 'verbs')
  return verbs.every((verb) => VERBS.includes(verb)) ? [] : [notSupported(path, verbs, VERBS)]
}

function validateResourceRule(rule: ResourcePolicyRule, path: FieldPath): FieldError[] {
  const errors = validateVerbs(rule.verbs, path.child('verbs'))
  const { apiGroups = [], resources = [], namespaces = [] } = rule
  if (apiGroups.length === 0)
    errors.push(required(path.child('apiGroups'), 'resource rules must supply at least one api group'))
  errors.push(...loneWildcard(apiGroups, path.child('apiGroups'), 'api groups'))
  if (resources.length === 0)
    errors.push(required(path.child('resources'), 'resource rules must supply at least one resource'))
  errors.push(...loneWildcard(resources, path.child('resources'), 'resources'))
  const at = path.child('namespaces')
  if (namespaces.length === 0 && !rule.clusterScope)
    errors.push(required(at, 'resource rules that are not cluster scoped must supply at least one namespace'))
  if (namespaces.includes('*')) return [...errors, ...loneWildcard(namespaces, at, 'namespaces')]
  namespaces.forEach((namespace, index) => {
    for (const message of nameIsDnsLabel(namespace, false)) {
      const detail = `each member of this list must be '*' or a DNS-1123 label; ${message}`
      errors.push(invalid(at.index(index), namespace, detail))
    }
  })
  return errors
}

function validateUrlRule(rule: NonResourcePolicyRule, path: FieldPath): FieldError[] {
  const errors = validateVerbs(rule.verbs, path.child('verbs'))
  const at = path.child('nonResourceURLs')
  const urls = rule.nonResourceURLs ?? []
  if (urls.length === 0) errors.push(required(at, 'nonResourceURLs must contain at least one value'))
  if (urls.includes('*')) return [...errors, ...loneWildcard(urls, at, 'non-resource URLs')]
  urls.forEach((url, index) => {
    const wrong = wrongUrl(url)
    if (wrong !== undefined) errors.push(invalid(at.index(index), url, wrong))
  })
  return errors
}

function wrongUrl(url: string): string | undefined {
  if (url === '') return 'must not be empty'
  if (url === '/') return undefined
  if (!url.startsWith('/')) return 'must start with slash'
  if (url.includes(' ')) return 'must not contain white-space'
  if (url.includes('//')) return 'must not contain double slash'
  const star = url.indexOf('*')
  return star >= 0 && (star !== url.length - 1 || !url.endsWith('/*'))
    ? 'wildcard can only do suffix matching'
    : undefined
}
