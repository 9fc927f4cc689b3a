import type { Namespace, Pod } from '../../../api/generated/core-v1.ts'
import { invalidObject } from '../../../api/meta/api-error.ts'
import type { FieldError } from '../../../api/meta/field-error.ts'
import { deepEqual } from '../../../base/deep-equal.ts'
import type { Lister } from '../lister.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { type Exemptions, isRuntimeClassExempt } from './exemptions.ts'
import {
  isAllPrivileged,
  isSamePolicy,
  LABEL_PREFIX,
  type Labels,
  levelOrder,
  type Mode,
  type Policy,
  policyOf,
  policyText,
} from './policy.ts'
import { violations } from './standards.ts'

export interface PodSecurityReaders {
  readonly namespaces: Lister<Namespace>
  readonly pods: Lister<Pod>
}

interface NamespaceContext {
  readonly readers: PodSecurityReaders
  readonly defaults: Policy
  readonly exemptions: Exemptions
}

/** Looking at more pods would take too long for whoever waits for the answer. */
const MOST_PODS = 3000

/** The labels must be understood, and whoever makes a level stricter is told which pods it comes too late for. */
export function admitNamespace(request: AdmissionRequest, context: NamespaceContext): void | Promise<void> {
  const { labels } = request.draft!.metadata
  const { policy, errors } = policyOf(labels, context.defaults)
  const before = request.operation === 'UPDATE' ? policyOf(request.old?.metadata.labels, context.defaults) : undefined
  if (errors.length > 0 && !deepEqual(errors.map(textOf), before?.errors.map(textOf)))
    throw invalidObject(request.kind, request.name, errors)
  if (before && !isStricter(policy, before.policy)) return
  if (context.exemptions.namespaces?.includes(request.name))
    return warnOfExemption(request, policy, labels ?? {}, context)
  if (before) return warnOfPods(request, policy, context)
}

const textOf = ({ field, message }: FieldError) => `${field}: ${message}`

function isStricter({ enforce }: Policy, { enforce: before }: Policy): boolean {
  if (isSamePolicy(enforce, before) || enforce.level === 'privileged') return false
  return enforce.minor !== before.minor || levelOrder(enforce.level) > levelOrder(before.level)
}

function warnOfExemption(request: AdmissionRequest, policy: Policy, labels: Labels, { defaults }: NamespaceContext) {
  const modes: readonly Mode[] = ['enforce', 'audit', 'warn']
  if (isAllPrivileged(policy) || modes.every((mode) => isSamePolicy(policy[mode], defaults[mode]))) return
  const isSet = (mode: Mode) =>
    policy[mode].level !== 'privileged' &&
    (labels[LABEL_PREFIX + mode] !== undefined || labels[`${LABEL_PREFIX}${mode}-version`] !== undefined)
  const ignored = modes.filter(isSet).map((mode) => `${mode}=${policyText(policy[mode])}`)
  const name = JSON.stringify((request.draft as Namespace).metadata.name)
  request.warn(`namespace ${name} is exempt from Pod Security, and the policy (${ignored.join(', ')}) will be ignored`)
}

async function warnOfPods(request: AdmissionRequest, { enforce }: Policy, context: NamespaceContext): Promise<void> {
  const all = (await context.readers.pods.list(request.name)).filter(
    ({ spec }) => !isRuntimeClassExempt(context.exemptions, spec?.runtimeClassName),
  )
  const checked = oneOfEachOwnerFirst(all).slice(0, MOST_PODS)
  const byReason = new Map<string, string[]>()
  for (const { metadata, spec } of checked) {
    const reason = violations(enforce, { metadata, spec: spec! })
      .map((violation) => violation.reason)
      .join(', ')
    if (reason) byReason.set(reason, [...(byReason.get(reason) ?? []), metadata.name!])
  }
  if (checked.length < all.length)
    request.warn(
      `new PodSecurity enforce level only checked against the first ${checked.length} of ${all.length} existing pods`,
    )
  if (byReason.size === 0) return
  const level = JSON.stringify(policyText(enforce))
  request.warn(
    `existing pods in namespace ${JSON.stringify(request.name)} violate the new PodSecurity enforce level ${level}`,
  )
  for (const line of [...byReason].map(podsText).sort()) request.warn(line)
}

function podsText([reason, names]: [string, string[]]): string {
  const [first] = names.sort()
  const others = names.length - 1
  if (others === 0) return `${first}: ${reason}`
  return `${first} (and ${others} other ${others === 1 ? 'pod' : 'pods'}): ${reason}`
}

/** Pods of one owner are mostly alike: the first of each says the most. */
function oneOfEachOwnerFirst(pods: readonly Pod[]): Pod[] {
  const owners = new Set<string>()
  const [first, more]: [Pod[], Pod[]] = [[], []]
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller)?.uid
    if (owner !== undefined && owners.has(owner)) more.push(pod)
    else first.push(pod)
    if (owner !== undefined) owners.add(owner)
  }
  return [...first, ...more]
}
