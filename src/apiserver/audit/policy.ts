import type { UserInfo } from '../identity.ts'

export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
export type Level = (typeof LEVELS)[number]
export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const
export type Stage = (typeof STAGES)[number]

export interface PolicyRule {
  readonly level: Level
  readonly users?: readonly string[]
  readonly userGroups?: readonly string[]
  readonly verbs?: readonly string[]
  readonly resources?: readonly {
    readonly group?: string
    readonly resources?: readonly string[]
    readonly resourceNames?: readonly string[]
  }[]
  readonly namespaces?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly omitStages?: readonly Stage[]
  readonly omitManagedFields?: boolean
}

/** `kind: Policy` of audit.k8s.io/v1. */
export interface AuditPolicy {
  readonly kind?: string
  readonly apiVersion?: string
  readonly rules?: readonly PolicyRule[]
  readonly omitStages?: readonly Stage[]
  readonly omitManagedFields?: boolean
}

/** What a rule looks at. */
export interface AuditAttributes {
  readonly user: UserInfo
  readonly verb: string
  readonly path: string
  readonly resource?:
    | {
        readonly group: string
        readonly resource: string
        readonly subresource: string
        readonly namespace: string
        readonly name: string
      }
    | undefined
}

export interface AuditDecision {
  readonly level: Level
  readonly omitStages: ReadonlySet<Stage>
  readonly omitManagedFields: boolean
}

/** Throws a sentence that tells what is wrong, and where. */
export function checkPolicy(policy: AuditPolicy): void {
  if (policy.kind !== 'Policy' || policy.apiVersion !== 'audit.k8s.io/v1')
    throw new Error(`this is no Policy of audit.k8s.io/v1, but ${policy.kind} of ${policy.apiVersion}`)
  if (!policy.rules?.length) throw new Error('an audit policy needs at least one rule')
  checkStages(policy.omitStages, 'omitStages')
  for (const [index, rule] of policy.rules.entries()) checkRule(rule, `rules[${index}]`)
}

function checkRule(rule: PolicyRule, at: string): void {
  if (!LEVELS.includes(rule.level))
    throw new Error(`${at}.level: unsupported value ${rule.level}: one of ${LEVELS.join(', ')}`)
  checkStages(rule.omitStages, `${at}.omitStages`)
  const isAboutResources = Boolean(rule.resources?.length || rule.namespaces?.length)
  if (isAboutResources && rule.nonResourceURLs?.length)
    throw new Error(`${at}.nonResourceURLs: a rule is about resources or about other URLs, not both`)
  for (const url of rule.nonResourceURLs ?? [])
    if (url !== '*' && (!url.startsWith('/') || url.slice(0, -1).includes('*')))
      throw new Error(`${at}.nonResourceURLs: ${url} must begin with "/", and may have a "*" at its end only`)
  for (const { resources = [], resourceNames = [] } of rule.resources ?? [])
    if (resourceNames.length > 0 && resources.length === 0)
      throw new Error(`${at}.resources: names need resources that they are of`)
}

function checkStages(stages: readonly Stage[] = [], at: string): void {
  const wrong = stages.find((stage) => !STAGES.includes(stage))
  if (wrong) throw new Error(`${at}: unsupported value ${wrong}: one of ${STAGES.join(', ')}`)
}

/** The first rule that fits decides. What no rule is about is not written down. */
export function policyEvaluator(policy: AuditPolicy): (attributes: AuditAttributes) => AuditDecision {
  checkPolicy(policy)
  const decided = policy.rules!.map((rule) => ({
    rule,
    decision: {
      level: rule.level,
      omitStages: new Set([...(policy.omitStages ?? []), ...(rule.omitStages ?? [])]),
      omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields ?? false,
    },
  }))
  const none: AuditDecision = { level: 'None', omitStages: new Set(STAGES), omitManagedFields: false }
  return (attributes) => decided.find(({ rule }) => fits(rule, attributes))?.decision ?? none
}

function fits(rule: PolicyRule, { user, verb, path, resource }: AuditAttributes): boolean {
  if (rule.users?.length && !rule.users.includes(user.name)) return false
  if (rule.userGroups?.length && !rule.userGroups.some((group) => user.groups.includes(group))) return false
  if (rule.verbs?.length && !rule.verbs.includes(verb)) return false
  if (rule.resources?.length || rule.namespaces?.length) return resource !== undefined && fitsResource(rule, resource)
  if (rule.nonResourceURLs?.length)
    return resource === undefined && rule.nonResourceURLs.some((url) => fitsUrl(url, path))
  return true
}

function fitsResource(rule: PolicyRule, asked: NonNullable<AuditAttributes['resource']>): boolean {
  if (rule.namespaces?.length && !rule.namespaces.includes(asked.namespace)) return false
  if (!rule.resources?.length) return true
  const { subresource } = asked
  const whole = subresource ? `${asked.resource}/${subresource}` : asked.resource
  return rule.resources.some(({ group = '', resources = [], resourceNames = [] }) => {
    if (group !== asked.group) return false
    if (resources.length === 0) return true
    if (resourceNames.length > 0 && !resourceNames.includes(asked.name)) return false
    return resources.some(
      (one) =>
        one === '*' ||
        one === whole ||
        (subresource !== '' && (one === `*/${subresource}` || one === `${asked.resource}/*`)),
    )
  })
}

function fitsUrl(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern
}
