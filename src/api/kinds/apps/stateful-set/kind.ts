import type { StatefulSet } from '../../../generated/apps-v1.ts'
import { defineKind } from '../../../kind.ts'
import { nameIsDnsLabel } from '../../../meta/names.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { workloadWarnings } from '../../core/pod/warnings.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'
import { replicaScale } from '../workload.ts'
import { containerColumns } from '../workload-columns.ts'
import { statefulSetDefaults } from './defaults.ts'
import { validateStatefulSet, validateStatefulSetStatus, validateStatefulSetUpdate } from './validation.ts'

export const statefulSetKind = defineKind<StatefulSet>({
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  shortNames: ['sts'],
  categories: ['all'],
  schema: 'io.k8s.api.apps.v1.StatefulSet',
  // Its pods are named after it, and a pod's name becomes its host name.
  validateName: nameIsDnsLabel,
  defaults: statefulSetDefaults,
  prepareCreate(draft) {
    draft.status = { replicas: 0, availableReplicas: 0 }
    draft.metadata.generation = 1
    dropMaxUnavailable(draft)
  },
  prepareUpdate(draft, old) {
    if (old.spec?.updateStrategy?.rollingUpdate?.maxUnavailable === undefined) dropMaxUnavailable(draft)
    prepareUpdateWithStatus(draft, old)
  },
  validate: validateStatefulSet,
  validateUpdate: validateStatefulSetUpdate,
  warnings: workloadWarnings,
  subresources: {
    scale: replicaScale(),
    status: statusSubresource({ validateUpdate: validateStatefulSetStatus }),
  },
  columns: [
    nameColumn,
    column(
      'Ready',
      'Pods that are ready, of those wanted.',
      (object) => `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
    ),
    ageColumn,
    ...containerColumns<StatefulSet>((object) => object.spec?.template?.spec?.containers),
  ],
})

/** The field belongs to a feature that v1.36 leaves off (KEP-961). */
function dropMaxUnavailable(draft: StatefulSet): void {
  delete draft.spec?.updateStrategy?.rollingUpdate?.maxUnavailable
}
