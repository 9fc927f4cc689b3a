import type { Job } from '../../../generated/batch-v1.ts'
import { type FieldError, invalid, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { matchesLabels } from '../../../meta/label-selector.ts'
import { compiledSelector } from '../../core/pod/label-selectors.ts'

const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid'
const JOB_NAME = 'batch.kubernetes.io/job-name'
/** The same labels from before label names had a prefix; still set, for those who select by them. */
const LEGACY_CONTROLLER_UID = 'controller-uid'
const LEGACY_JOB_NAME = 'job-name'

const METADATA = FieldPath.root('metadata')
const SPEC = FieldPath.root('spec')

/** The labels that mark a job's pods as its own: no other object has this uid. */
function generatedLabels(job: Job): Record<string, string> {
  const { uid = '', name = '' } = job.metadata
  return { [LEGACY_CONTROLLER_UID]: uid, [LEGACY_JOB_NAME]: name, [CONTROLLER_UID]: uid, [JOB_NAME]: name }
}

/** Fills selector and template labels, but overwrites nothing: validation tells the user what conflicts. */
export function generateSelector(job: Job): void {
  const { spec } = job
  if (!spec || spec.manualSelector) return
  spec.template ??= {}
  spec.template.metadata = {
    ...spec.template.metadata,
    labels: { ...generatedLabels(job), ...spec.template.metadata?.labels },
  }
  spec.selector ??= {}
  spec.selector.matchLabels = { [CONTROLLER_UID]: job.metadata.uid ?? '', ...spec.selector.matchLabels }
}

export function checkOwnLabels(job: Job, errors: FieldError[]): void {
  const { spec } = job
  if (!spec?.selector || spec.manualSelector) return
  if (!job.metadata.uid) errors.push(required(METADATA.child('uid')))
  const expected = generatedLabels(job)
  const labels = spec.template?.metadata?.labels ?? {}
  for (const [key, value] of Object.entries(expected)) {
    const path = SPEC.child('template', 'metadata', 'labels').key(key)
    if (labels[key] === undefined) errors.push(required(path, `must be '${value}'`))
    else if (labels[key] !== value) errors.push(invalid(path, labels, `must be '${value}'`))
  }
  const selector = compiledSelector(spec.selector)
  if (selector && !matchesLabels(selector, expected))
    errors.push(invalid(SPEC.child('selector'), spec.selector, '`selector` not auto-generated'))
}
