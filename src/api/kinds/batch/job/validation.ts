import type { Job, JobSpec } from '../../../generated/batch-v1.ts'
import { type FieldError, invalid, notSupported, required, tooLong } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { matchesLabels } from '../../../meta/label-selector.ts'
import { isDns1123Label, isDns1123Subdomain } from '../../../meta/names.ts'
import { compiledSelector, validateSelector } from '../../core/pod/label-selectors.ts'
import { checkNotNegative, refuse } from '../../core/pod/pod-check.ts'
import { validatePodTemplate } from '../../core/pod/validation.ts'
import { validatePodFailurePolicy, validateSuccessPolicy } from './policies-validation.ts'
import { checkOwnLabels } from './selector.ts'

const SPEC = FieldPath.root('spec')
const COMPLETION_MODES = ['NonIndexed', 'Indexed']
const REPLACEMENT_POLICIES = ['Failed', 'TerminatingOrFailed']
const MAX_MANAGED_BY = 63
const MAX_INDEXED = 100_000
/** Beyond so many completions, per-index bookkeeping is only bearable with tighter limits. */
const MANY_COMPLETIONS = 100_000
const LIMIT_FOR_MANY = 10_000

export function validateJob(job: Job): FieldError[] {
  const errors: FieldError[] = []
  const spec = job.spec ?? ({} as JobSpec)
  checkOwnLabels(job, errors)
  checkSelector(spec, errors)
  validateJobSpec(spec, SPEC, errors)
  checkHostname(job, spec, errors)
  return errors
}

function checkSelector(spec: JobSpec, errors: FieldError[]): void {
  if (!spec.selector) errors.push(required(SPEC.child('selector')))
  else validateSelector(spec.selector, SPEC.child('selector'), errors)
  const selector = compiledSelector(spec.selector)
  const labels = spec.template?.metadata?.labels
  if (selector && !matchesLabels(selector, labels))
    errors.push(
      invalid(
        SPEC.child('template', 'metadata', 'labels'),
        labels ?? {},
        '`selector` does not match template `labels`',
      ),
    )
}

/** The index is appended to the name; the last pod has the longest host name. */
function checkHostname(job: Job, spec: JobSpec, errors: FieldError[]): void {
  if (spec.completionMode !== 'Indexed' || !spec.completions || spec.completions < 0) return
  const hostname = `${job.metadata.name ?? ''}-${spec.completions - 1}`
  if (isDns1123Label(hostname).length > 0)
    errors.push(
      invalid(
        FieldPath.root('metadata').child('name'),
        job.metadata.name,
        `will not able to create pod with invalid DNS label: ${hostname}`,
      ),
    )
}

/** Rules on the spec of a job, also of one that a CronJob will make. */
export function validateJobSpec(spec: JobSpec, path: FieldPath, errors: FieldError[]): void {
  for (const field of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
    'maxFailedIndexes',
  ] as const)
    checkNotNegative(errors, path, field, spec[field])
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    errors.push(required(path.child('backoffLimitPerIndex'), 'when maxFailedIndexes is specified'))
  if (spec.managedBy !== undefined) checkManagedBy(spec.managedBy, path.child('managedBy'), errors)
  if (spec.completionMode !== undefined) checkCompletionMode(spec, spec.completionMode, path, errors)
  checkIndexedOnly(spec, path, errors)
  if (spec.podFailurePolicy) validatePodFailurePolicy(spec, path.child('podFailurePolicy'), errors)
  if (spec.successPolicy && spec.completionMode === 'Indexed')
    validateSuccessPolicy(spec, path.child('successPolicy'), errors)
  checkReplacementPolicy(spec, path.child('podReplacementPolicy'), errors)
  validatePodTemplate(spec.template, path.child('template'), errors)
  checkRestartPolicy(spec, path.child('template', 'spec', 'restartPolicy'), errors)
}

/** A domain and a path, like `example.com/controller`. */
function checkManagedBy(managedBy: string, path: FieldPath, errors: FieldError[]): void {
  const slash = managedBy.indexOf('/')
  const domain = managedBy.slice(0, Math.max(0, slash))
  if (managedBy === '') errors.push(required(path))
  else if (domain === '' || slash === managedBy.length - 1)
    errors.push(invalid(path, managedBy, 'must be a domain-prefixed path (such as "acme.io/foo")'))
  else refuse(errors, path, domain, isDns1123Subdomain(domain))
  if (managedBy.length > MAX_MANAGED_BY) errors.push(tooLong(path, MAX_MANAGED_BY))
}

function checkCompletionMode(spec: JobSpec, mode: string, path: FieldPath, errors: FieldError[]): void {
  if (!COMPLETION_MODES.includes(mode)) {
    errors.push(notSupported(path.child('completionMode'), mode, COMPLETION_MODES))
    return
  }
  if (mode !== 'Indexed') return
  const { completions, parallelism = 0, maxFailedIndexes = 0 } = spec
  if (completions === undefined) errors.push(required(path.child('completions'), 'when completion mode is Indexed'))
  if (parallelism > MAX_INDEXED)
    errors.push(
      invalid(
        path.child('parallelism'),
        parallelism,
        `must be less than or equal to ${MAX_INDEXED} when completion mode is Indexed`,
      ),
    )
  if (completions !== undefined && maxFailedIndexes > completions)
    errors.push(invalid(path.child('maxFailedIndexes'), maxFailedIndexes, 'must be less than or equal to completions'))
  if (maxFailedIndexes > MAX_INDEXED)
    errors.push(
      invalid(path.child('maxFailedIndexes'), maxFailedIndexes, `must be less than or equal to ${MAX_INDEXED}`),
    )
  if ((completions ?? 0) > MANY_COMPLETIONS && spec.backoffLimitPerIndex !== undefined)
    checkManyCompletions(spec, path, errors)
}

function checkManyCompletions(spec: JobSpec, path: FieldPath, errors: FieldError[]): void {
  const text = `must be less than or equal to ${LIMIT_FOR_MANY} when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`
  if (spec.maxFailedIndexes === undefined)
    errors.push(
      required(path.child('maxFailedIndexes'), `must be specified when completions is above ${MANY_COMPLETIONS}`),
    )
  for (const field of ['parallelism', 'maxFailedIndexes'] as const) {
    const value = spec[field]
    if (value !== undefined && value > LIMIT_FOR_MANY) errors.push(invalid(path.child(field), value, text))
  }
}

function checkIndexedOnly(spec: JobSpec, path: FieldPath, errors: FieldError[]): void {
  if (spec.completionMode === 'Indexed') return
  for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes', 'successPolicy'] as const)
    if (spec[field] !== undefined)
      errors.push(invalid(path.child(field), spec[field], 'requires indexed completion mode'))
}

function checkReplacementPolicy(spec: JobSpec, path: FieldPath, errors: FieldError[]): void {
  const policy = spec.podReplacementPolicy
  if (policy === undefined) return
  const supported = spec.podFailurePolicy ? ['Failed'] : REPLACEMENT_POLICIES
  if (!supported.includes(policy)) errors.push(notSupported(path, policy, supported))
}

/** A job ends: its containers may not be restarted whatever happens. */
function checkRestartPolicy(spec: JobSpec, path: FieldPath, errors: FieldError[]): void {
  const policy = spec.template?.spec?.restartPolicy ?? ''
  if (policy === '' || policy === 'Always') errors.push(required(path, 'valid values: "OnFailure", "Never"'))
  else if (policy !== 'OnFailure' && policy !== 'Never') errors.push(notSupported(path, policy, ['OnFailure', 'Never']))
  else if (spec.podFailurePolicy && policy !== 'Never')
    errors.push(invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified'))
}
