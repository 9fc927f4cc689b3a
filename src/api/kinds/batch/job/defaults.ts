import type { Job, JobSpec } from '../../../generated/batch-v1.ts'
import { podTemplateDefaults } from '../../core/pod/defaults.ts'

const MAX_INT32 = 2147483647

export function jobDefaults(job: Job): void {
  job.spec ??= {} as JobSpec
  const { spec } = job
  jobTemplateDefaults(spec)
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
  spec.parallelism ??= 1
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : MAX_INT32
  const labels = spec.template.metadata?.labels
  if (labels && Object.keys(job.metadata.labels ?? {}).length === 0) job.metadata.labels = { ...labels }
  spec.completionMode ??= 'NonIndexed'
  spec.suspend ??= false
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed'
  spec.manualSelector ??= false
}

/** What also holds for the template of a CronJob; the rest is decided when the job is made. */
export function jobTemplateDefaults(spec: JobSpec): void {
  podTemplateDefaults(spec)
  for (const rule of spec.podFailurePolicy?.rules ?? [])
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= 'True'
}
