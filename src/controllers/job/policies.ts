import type { Job, PodFailurePolicyOnExitCodesRequirement, SuccessPolicyRule } from '../../api/generated/batch-v1.ts'
import type { ContainerStatus, Pod } from '../../api/generated/core-v1.ts'
import { IndexSet } from './index-set.ts'
import { failuresOfIndex, isFailed } from './job-pod.ts'

/** What the pod failure policy (KEP-3329) says of a failed pod. */
export interface FailureVerdict {
  /** Why the whole job fails. */
  readonly jobFailure?: string
  /** Whether it counts towards the back-off limit. */
  readonly isCounted: boolean
  readonly failsIndex: boolean
}

const COUNTED: FailureVerdict = { isCounted: true, failsIndex: false }

/** The first rule that matches decides. */
export function judgeFailure(job: Job, pod: Pod): FailureVerdict {
  for (const [index, rule] of (job.spec?.podFailurePolicy?.rules ?? []).entries()) {
    const match = rule.onExitCodes ? exitCodeMatch(pod, rule.onExitCodes) : conditionMatch(pod, rule.onPodConditions)
    if (match === undefined) continue
    if (rule.action === 'Ignore') return { isCounted: false, failsIndex: false }
    if (rule.action === 'FailIndex') return { isCounted: true, failsIndex: true }
    if (rule.action === 'FailJob') return { ...COUNTED, jobFailure: `${match} matching FailJob rule at index ${index}` }
    return COUNTED
  }
  return COUNTED
}

function exitCodeMatch(pod: Pod, requirement: PodFailurePolicyOnExitCodesRequirement): string | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {}
  const status = [...containerStatuses, ...initContainerStatuses].find((one) => hasExitCode(one, requirement))
  if (!status) return undefined
  const { namespace, name } = pod.metadata
  return `Container ${status.name} for pod ${namespace}/${name} failed with exit code ${status.state?.terminated?.exitCode}`
}

function hasExitCode(status: ContainerStatus, requirement: PodFailurePolicyOnExitCodesRequirement): boolean {
  const { containerName, operator, values } = requirement
  const exitCode = status.state?.terminated?.exitCode
  if (!exitCode || (containerName !== undefined && containerName !== status.name)) return false
  return operator === 'In' ? values.includes(exitCode) : operator === 'NotIn' && !values.includes(exitCode)
}

function conditionMatch(
  pod: Pod,
  patterns: readonly { type: string; status?: string }[] | undefined,
): string | undefined {
  const condition = pod.status?.conditions?.find(({ type, status }) =>
    patterns?.some((pattern) => pattern.type === type && (pattern.status ?? 'True') === status),
  )
  return condition && `Pod ${pod.metadata.namespace}/${pod.metadata.name} has condition ${condition.type}`
}

/** Whether a pod's end was its index's last chance (KEP-3850). */
export function failsItsIndex(job: Job, pod: Pod): boolean {
  if (!isFailed(job, pod)) return false
  const { isCounted, failsIndex } = judgeFailure(job, pod)
  return failsIndex || (isCounted && failuresOfIndex(pod) >= (job.spec?.backoffLimitPerIndex ?? 0))
}

/** Why the job has succeeded already, if it has (KEP-3998). */
export function successPolicyMatch(job: Job, succeeded: IndexSet): string | undefined {
  const rules = job.spec?.successPolicy?.rules ?? []
  const index = rules.findIndex((rule) => matchesRule(rule, succeeded, job.spec?.completions ?? 0))
  return index < 0 ? undefined : `Matched rules at index ${index}`
}

function matchesRule(rule: SuccessPolicyRule, succeeded: IndexSet, completions: number): boolean {
  const { succeededIndexes, succeededCount } = rule
  if (succeededIndexes === undefined) return succeededCount !== undefined && succeeded.size >= succeededCount
  const required = IndexSet.parse(succeededIndexes, completions)
  if (required.size === 0) return false
  const reached = required.overlap(succeeded)
  return reached === required.size || (succeededCount !== undefined && reached >= succeededCount)
}
