import type { CronJob, CronJobSpec, JobSpec } from '../../../generated/batch-v1.ts'
import { defineKind } from '../../../kind.ts'
import { age } from '../../../meta/time.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { containerColumns, selectorColumn, selectorText } from '../../apps/workload-columns.ts'
import { podTemplateWarnings } from '../../core/pod/warnings.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'
import { jobTemplateDefaults } from '../job/defaults.ts'
import { nameWarnings } from '../job/kind.ts'
import { validateCronJob } from './validation.ts'

export const cronJobKind = defineKind<CronJob>({
  group: 'batch',
  version: 'v1',
  kind: 'CronJob',
  plural: 'cronjobs',
  shortNames: ['cj'],
  categories: ['all'],
  schema: 'io.k8s.api.batch.v1.CronJob',
  defaults(draft) {
    draft.spec ??= {} as CronJobSpec
    const { spec } = draft
    spec.jobTemplate ??= {}
    spec.jobTemplate.metadata ??= {}
    spec.jobTemplate.spec ??= {} as JobSpec
    jobTemplateDefaults(spec.jobTemplate.spec)
    spec.concurrencyPolicy ||= 'Allow'
    spec.suspend ??= false
    spec.successfulJobsHistoryLimit ??= 3
    spec.failedJobsHistoryLimit ??= 1
  },
  prepareCreate(draft) {
    draft.status = {}
    draft.metadata.generation = 1
  },
  prepareUpdate: prepareUpdateWithStatus,
  validate: validateCronJob,
  warnings(cronJob, old) {
    if (old && old.metadata.generation === cronJob.metadata.generation) return []
    const template = cronJob.spec?.jobTemplate?.spec?.template
    return [
      ...(old ? [] : nameWarnings(cronJob.metadata.name)),
      ...podTemplateWarnings(template, 'spec.jobTemplate.spec.template'),
    ]
  },
  subresources: { status: statusSubresource() },
  columns: [
    nameColumn,
    column('Schedule', 'When the job is due.', (object) => object.spec?.schedule ?? ''),
    column('Timezone', 'Time zone of the schedule.', (object) => object.spec?.timeZone ?? '<none>'),
    column(
      'Suspend',
      'Whether no jobs are made.',
      (object) => (object.spec?.suspend === undefined ? '<unset>' : object.spec.suspend ? 'True' : 'False'),
      'boolean',
    ),
    column('Active', 'Jobs that run.', (object) => object.status?.active?.length ?? 0, 'integer'),
    column('Last Schedule', 'How long ago the last job was due.', (object, now) =>
      object.status?.lastScheduleTime === undefined ? '<none>' : age(object.status.lastScheduleTime, now),
    ),
    ageColumn,
    ...containerColumns<CronJob>((object) => object.spec?.jobTemplate?.spec?.template?.spec?.containers),
    selectorColumn((object) => selectorText(object.spec?.jobTemplate?.spec?.selector)),
  ],
})
