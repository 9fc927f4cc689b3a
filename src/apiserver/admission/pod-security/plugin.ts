import type { Namespace, Pod } from '../../../api/generated/core-v1.ts'
import { forbiddenAccess, internalError } from '../../../api/meta/api-error.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../plugin.ts'
import type { CheckedPod } from './check.ts'
import { type Exemptions, exemptionOf } from './exemptions.ts'
import { admitNamespace, type PodSecurityReaders } from './namespace.ts'
import { hasTemplate, templateOf } from './pod-template.ts'
import {
  ALL_PRIVILEGED,
  isAllPrivileged,
  isSamePolicy,
  LABEL_PREFIX,
  type Labels,
  type LevelVersion,
  type Policy,
  policyOf,
  policyText,
} from './policy.ts'
import { detailsText, violations } from './standards.ts'

export interface PodSecurityOptions {
  /** As the labels of a namespace without its prefix: `{ enforce: 'baseline', 'enforce-version': 'v1.30' }`. */
  readonly defaults?: Labels
  readonly exemptions?: Exemptions
}

/** The doors to a pod that leave open what it may do to its node. */
const HARMLESS = new Set(['exec', 'attach', 'binding', 'eviction', 'log', 'portforward', 'proxy', 'status'])

/**
 * Pods keep to the level of the Pod Security Standards that their namespace asks for by its labels
 * (https://kep.k8s.io/2579). What makes pods is not refused, but whoever writes it is told.
 */
export function podSecurity(readers: PodSecurityReaders, options: PodSecurityOptions = {}): AdmissionPlugin {
  const defaults = defaultsOf(options.defaults)
  const { exemptions = {} } = options
  const policies = new WeakMap<Namespace, ReturnType<typeof policyOf>>()
  const check = (request: AdmissionRequest, namespace: Namespace | undefined): void => {
    if (!namespace) throw internalError(`failed to lookup namespace ${JSON.stringify(request.namespace)}`)
    const { policy, errors } = getOrCreate(policies, namespace, () => policyOf(namespace.metadata.labels, defaults))
    if (errors.length === 0 && isAllPrivileged(policy)) return
    const isPod = request.kind.plural === 'pods'
    const pod = isPod ? (request.draft as Pod) : templateOf(request.kind, request.draft!)
    if (!pod?.spec || (isPod && !isNews(request))) return
    if (exemptionOf(exemptions, request, pod.spec)) return
    judge(request, policy, pod as CheckedPod, isPod)
  }
  return {
    name: 'PodSecurity',
    validate(request) {
      const { kind, operation, subresource, draft } = request
      if (!draft || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      if (kind.group === '' && kind.plural === 'namespaces')
        return subresource === '' ? admitNamespace(request, { readers, defaults, exemptions }) : undefined
      const isPod = kind.group === '' && kind.plural === 'pods' && !HARMLESS.has(subresource)
      if (!isPod && (subresource !== '' || !hasTemplate(kind))) return
      const namespace = readers.namespaces.get(request.namespace)
      if (namespace instanceof Promise) return namespace.then((found) => check(request, found))
      check(request, namespace)
    },
  }
}

function defaultsOf(labels: Labels = {}): Policy {
  const prefixed = Object.fromEntries(Object.entries(labels).map(([key, value]) => [LABEL_PREFIX + key, value]))
  const { policy, errors } = policyOf(prefixed, ALL_PRIVILEGED)
  if (errors.length > 0) throw new Error(errors.map(({ field, message }) => `${field}: ${message}`).join(', '))
  return policy
}

/** Of a pod that exists, only images and debug containers can change. */
function isNews({ operation, draft, old }: AdmissionRequest): boolean {
  if (operation === 'CREATE') return true
  const [now, before] = [(draft as Pod).spec!, (old as Pod | undefined)?.spec]
  if (!before) return true
  const isOther = (field: 'containers' | 'initContainers') =>
    (now[field]?.length ?? 0) !== (before[field]?.length ?? 0) ||
    now[field]?.some(({ image }, i) => image !== before[field]![i]!.image)
  const debugged = now.ephemeralContainers?.some(
    ({ name, image }) => before.ephemeralContainers?.find((one) => one.name === name)?.image !== image,
  )
  return Boolean(isOther('containers') || isOther('initContainers') || debugged)
}

function judge(request: AdmissionRequest, policy: Policy, pod: CheckedPod, isEnforced: boolean): void {
  const { kind, name } = request
  const seen: [LevelVersion, string][] = []
  const problems = (level: LevelVersion): string => {
    const known = seen.find(([one]) => isSamePolicy(one, level))
    if (known) return known[1]
    const found = violations(level, pod)
    const text =
      found.length === 0 ? '' : `violate PodSecurity ${JSON.stringify(policyText(level))}: ${detailsText(found)}`
    seen.push([level, text])
    return text
  }
  if (isEnforced) request.annotate?.(`${LABEL_PREFIX}enforce-policy`, policyText(policy.enforce))
  const audited = problems(policy.audit)
  if (audited) request.annotate?.(`${LABEL_PREFIX}audit-violations`, `would ${audited}`)
  const refused = isEnforced && problems(policy.enforce)
  if (refused)
    throw forbiddenAccess({ group: kind.group, resource: kind.plural }, name, refused.replace(/^violate/, 'violates'))
  const warned = problems(policy.warn)
  if (warned) request.warn(`would ${warned}`)
}
