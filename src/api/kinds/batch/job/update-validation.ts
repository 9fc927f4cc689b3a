import { deepEqual } from '../../../../base/deep-equal.ts'
import type { Job, JobCondition, JobSpec, JobStatus } from '../../../generated/batch-v1.ts'
import type { Container, PodSpec, PodTemplateSpec } from '../../../generated/core-v1.ts'
import { isConditionTrue } from '../../../meta/conditions.ts'
import { type FieldError, invalid } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { checkNotNegative } from '../../core/pod/pod-check.ts'
import { invalidAt } from './policies-validation.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const IMMUTABLE = 'field is immutable'
const IMMUTABLE_FIELDS = [
  'selector',
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const

export function validateJobUpdate(job: Job, old: Job): FieldError[] {
  const errors: FieldError[] = []
  const spec = job.spec ?? ({} as JobSpec)
  const oldSpec = old.spec ?? ({} as JobSpec)
  checkCompletions(spec, oldSpec, errors)
  for (const field of IMMUTABLE_FIELDS)
    if (!deepEqual(spec[field], oldSpec[field])) errors.push(invalid(SPEC.child(field), spec[field], IMMUTABLE))
  checkTemplate(spec, old, errors)
  return errors
}

/** An indexed job may grow and shrink, as long as all its indexes run at once. */
function checkCompletions(spec: JobSpec, old: JobSpec, errors: FieldError[]): void {
  if (spec.completions === old.completions) return
  const path = SPEC.child('completions')
  if (spec.completionMode !== 'Indexed') errors.push(invalid(path, spec.completions, IMMUTABLE))
  else if (spec.completions !== undefined && spec.completions !== spec.parallelism)
    errors.push(invalid(path, spec.completions, 'can only be modified in tandem with spec.parallelism'))
}

/** While a job is suspended and has no pods, it may still be decided where they will run and what they get. */
function checkTemplate(spec: JobSpec, old: Job, errors: FieldError[]): void {
  const before = old.spec?.template
  if (deepEqual(spec.template, before)) return
  const mayChange =
    old.spec?.suspend && isConditionTrue(old.status?.conditions, 'Suspended') && !(old.status?.active ?? 0)
  if (!mayChange) {
    errors.push(invalid(SPEC.child('template'), spec.template, IMMUTABLE))
    return
  }
  const rest = withoutDirectives(spec.template, before)
  if (!deepEqual(rest.spec, before?.spec))
    errors.push(invalid(SPEC.child('template.spec'), spec.template?.spec, IMMUTABLE))
}

function withoutDirectives(template: PodTemplateSpec, old: PodTemplateSpec | undefined): PodTemplateSpec {
  const pod: PodSpec = { ...(template.spec ?? { containers: [] }) }
  const before = old?.spec
  const affinity = { ...pod.affinity, nodeAffinity: before?.affinity?.nodeAffinity }
  const isBare = !affinity.podAffinity && !affinity.podAntiAffinity && !affinity.nodeAffinity
  pod.affinity = isBare && !before?.affinity ? undefined : affinity
  pod.nodeSelector = before?.nodeSelector
  pod.tolerations = before?.tolerations
  pod.schedulingGates = before?.schedulingGates
  pod.containers = withResourcesOf(pod.containers, before?.containers) ?? []
  pod.initContainers = withResourcesOf(pod.initContainers, before?.initContainers)
  return { ...template, spec: pod }
}

const withResourcesOf = (containers: Container[] | undefined, old: Container[] | undefined) =>
  containers?.map((container, i) =>
    old?.[i]?.name === container.name ? { ...container, resources: old[i]!.resources } : container,
  )

export function validateJobStatusUpdate(job: Job, old: Job): FieldError[] {
  const errors: FieldError[] = []
  const status = job.status ?? {}
  const before = old.status ?? {}
  for (const field of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    checkNotNegative(errors, STATUS, field, status[field])
  checkConditions(status.conditions, before.conditions, errors)
  for (const field of ['failed', 'succeeded'] as const)
    if ((status[field] ?? 0) < (before[field] ?? 0) && !old.spec?.suspend)
      errors.push(invalid(STATUS.child(field), status[field] ?? 0, `cannot decrease the ${field} counter`))
  checkTimes(status, before, errors)
  if (isFinished(status) && (status.active ?? 0) > 0)
    errors.push(invalid(STATUS.child('active'), status.active, 'active>0 is invalid for finished job'))
  return errors
}

const isFinished = (status: JobStatus) =>
  isConditionTrue(status.conditions, 'Complete') || isConditionTrue(status.conditions, 'Failed')

/** What is decided about a job stays decided. */
function checkConditions(
  after: readonly JobCondition[] | undefined,
  before: readonly JobCondition[] | undefined,
  errors: FieldError[],
): void {
  const path = STATUS.child('conditions')
  for (const type of ['Failed', 'Complete', 'SuccessCriteriaMet'])
    if (isConditionTrue(before, type) && !isConditionTrue(after, type)) {
      const what = type === 'SuccessCriteriaMet' ? 'the' : 'the terminal'
      errors.push(invalidAt(path, `cannot disable ${what} ${type}=True condition`))
    }
  const both = (a: string, b: string) => isConditionTrue(after, a) && isConditionTrue(after, b)
  if (both('Complete', 'Failed')) errors.push(invalidAt(path, 'cannot set Complete=True and Failed=true conditions'))
  if (both('Complete', 'FailureTarget'))
    errors.push(invalidAt(path, 'cannot set Complete=True and FailureTarget=true conditions'))
  if (both('SuccessCriteriaMet', 'Failed'))
    errors.push(invalidAt(path, 'cannot set SuccessCriteriaMet=True and Failed=true conditions'))
}

function checkTimes(status: JobStatus, before: JobStatus, errors: FieldError[]): void {
  const { completionTime } = status
  const path = STATUS.child('completionTime')
  if (before.completionTime !== undefined && completionTime !== before.completionTime)
    errors.push(invalid(path, completionTime, IMMUTABLE))
  if (completionTime !== undefined && !isConditionTrue(status.conditions, 'Complete'))
    errors.push(invalid(path, completionTime, 'cannot set completionTime when there is no Complete=True condition'))
}
