import { deepEqual } from '../../../../base/deep-equal.ts'
import type { Deployment } from '../../../generated/apps-v1.ts'
import { defineKind } from '../../../kind.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { workloadWarnings } from '../../core/pod/warnings.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'
import { replicaScale } from '../workload.ts'
import { containerColumns, selectorColumn, selectorText } from '../workload-columns.ts'
import { deploymentDefaults } from './defaults.ts'
import { validateDeployment, validateDeploymentStatus, validateDeploymentUpdate } from './validation.ts'

export const deploymentKind = defineKind<Deployment>({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  shortNames: ['deploy'],
  categories: ['all'],
  schema: 'io.k8s.api.apps.v1.Deployment',
  defaults: deploymentDefaults,
  prepareCreate(draft) {
    draft.status = {}
    draft.metadata.generation = 1
  },
  prepareUpdate(draft, old) {
    prepareUpdateWithStatus(draft, old)
    // Annotations are copied to ReplicaSets, so the controller must see their change as one of the spec.
    const generation = old.metadata.generation ?? 0
    if (draft.metadata.generation === generation && !deepEqual(draft.metadata.annotations, old.metadata.annotations))
      draft.metadata.generation = generation + 1
  },
  validate: validateDeployment,
  validateUpdate: validateDeploymentUpdate,
  warnings: workloadWarnings,
  subresources: {
    scale: replicaScale(),
    status: statusSubresource({ validateUpdate: validateDeploymentStatus }),
  },
  columns: [
    nameColumn,
    column(
      'Ready',
      'Pods that are ready, of those wanted.',
      (object) => `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
    ),
    column('Up-to-date', 'Pods of the newest template.', (object) => object.status?.updatedReplicas ?? 0),
    column('Available', 'Pods that have been ready long enough.', (object) => object.status?.availableReplicas ?? 0),
    ageColumn,
    ...containerColumns<Deployment>((object) => object.spec?.template?.spec?.containers),
    selectorColumn((object) => selectorText(object.spec?.selector)),
  ],
})
