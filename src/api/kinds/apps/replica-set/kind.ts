import type { ReplicaSet } from '../../../generated/apps-v1.ts'
import { defineKind } from '../../../kind.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { podTemplateDefaults } from '../../core/pod/defaults.ts'
import { workloadWarnings } from '../../core/pod/warnings.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'
import { replicaScale } from '../workload.ts'
import { containerColumns, selectorColumn, selectorText } from '../workload-columns.ts'
import { validateReplicaSet, validateReplicaSetStatus, validateReplicaSetUpdate } from './validation.ts'

export const replicaSetKind = defineKind<ReplicaSet>({
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  shortNames: ['rs'],
  categories: ['all'],
  schema: 'io.k8s.api.apps.v1.ReplicaSet',
  defaults(draft) {
    draft.spec ??= {} as NonNullable<ReplicaSet['spec']>
    podTemplateDefaults(draft.spec)
    draft.spec.replicas ??= 1
  },
  prepareCreate(draft) {
    draft.status = { replicas: 0 }
    draft.metadata.generation = 1
  },
  prepareUpdate: prepareUpdateWithStatus,
  validate: validateReplicaSet,
  validateUpdate: validateReplicaSetUpdate,
  warnings: workloadWarnings,
  selectableFields: { 'status.replicas': (object) => String(object.status?.replicas ?? 0) },
  subresources: {
    scale: replicaScale(),
    status: statusSubresource<ReplicaSet>({ validateUpdate: validateReplicaSetStatus }),
  },
  columns: [
    nameColumn,
    column('Desired', 'Pods that are wanted.', (object) => object.spec?.replicas ?? 0, 'integer'),
    column('Current', 'Pods that exist.', (object) => object.status?.replicas ?? 0, 'integer'),
    column('Ready', 'Pods that are ready.', (object) => object.status?.readyReplicas ?? 0, 'integer'),
    ageColumn,
    ...containerColumns<ReplicaSet>((object) => object.spec?.template?.spec?.containers),
    selectorColumn((object) => selectorText(object.spec?.selector)),
  ],
})
