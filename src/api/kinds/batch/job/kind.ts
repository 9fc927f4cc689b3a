import type { Job } from '../../../generated/batch-v1.ts'
import { defineKind } from '../../../kind.ts'
import { isDns1123Label } from '../../../meta/names.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { workloadWarnings } from '../../core/pod/warnings.ts'
import { jobColumns } from './columns.ts'
import { jobDefaults } from './defaults.ts'
import { generateSelector } from './selector.ts'
import { validateJobStatusUpdate, validateJobUpdate } from './update-validation.ts'
import { validateJob } from './validation.ts'

export const jobKind = defineKind<Job>({
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  plural: 'jobs',
  categories: ['all'],
  schema: 'io.k8s.api.batch.v1.Job',
  defaults: jobDefaults,
  prepareCreate(draft) {
    generateSelector(draft)
    draft.status = {}
    draft.metadata.generation = 1
  },
  prepareUpdate: prepareUpdateWithStatus,
  validate: validateJob,
  validateUpdate: validateJobUpdate,
  warnings: (job, old) => [...(old ? [] : nameWarnings(job.metadata.name)), ...workloadWarnings(job, old)],
  selectableFields: { 'status.successful': (job) => String(job.status?.succeeded ?? 0) },
  subresources: { status: statusSubresource({ validateUpdate: validateJobStatusUpdate }) },
  columns: jobColumns,
  // Clients of this version expect that finished pods stay when the job goes, unless they ask otherwise.
  garbageCollection: 'orphan',
})

/** Pods are named after the object, so a name that is no label makes odd host names. */
export function nameWarnings(name = ''): string[] {
  const messages = isDns1123Label(name)
  if (messages.length === 0) return []
  const text =
    'this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended'
  return [`metadata.name: ${text}: [${messages.join(' ')}]`]
}
