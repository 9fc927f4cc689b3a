import type { Job } from '../../../generated/batch-v1.ts'
import type { Column } from '../../../kind.ts'
import { isConditionTrue } from '../../../meta/conditions.ts'
import { humanDuration, parseTime } from '../../../meta/time.ts'
import { containerColumns, selectorColumn, selectorText } from '../../apps/workload-columns.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'

export const jobColumns: readonly Column<Job>[] = [
  nameColumn,
  column('Status', 'What the job is doing.', jobStatus),
  column('Completions', 'Pods that succeeded, of those that must.', completions),
  column('Duration', 'How long the job took, or takes so far.', duration),
  ageColumn,
  ...containerColumns<Job>((job) => job.spec?.template?.spec?.containers),
  selectorColumn((job) => selectorText(job.spec?.selector)),
]

function jobStatus(job: Job): string {
  const is = (type: string) => isConditionTrue(job.status?.conditions, type)
  if (is('Complete')) return 'Complete'
  if (is('Failed')) return 'Failed'
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(is) ?? 'Running'
}

function completions(job: Job): string {
  const succeeded = job.status?.succeeded ?? 0
  if (job.spec?.completions !== undefined) return `${succeeded}/${job.spec.completions}`
  const parallelism = job.spec?.parallelism ?? 0
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function duration(job: Job, now: number): string {
  const start = job.status?.startTime && parseTime(job.status.startTime)
  if (!start) return ''
  const end = job.status?.completionTime && parseTime(job.status.completionTime)
  return humanDuration((end || now) - start)
}
