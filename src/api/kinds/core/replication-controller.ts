import type { ReplicationController, ReplicationControllerSpec } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../strategy.ts'
import { validateReplicaSetStatus } from '../apps/replica-set/validation.ts'
import { checkRunningTemplate, checkTemplateLabels } from '../apps/workload.ts'
import { containerColumns, labelsText, selectorColumn } from '../apps/workload-columns.ts'
import { podTemplateDefaults } from './pod/defaults.ts'
import { checkNotNegative } from './pod/pod-check.ts'
import { podTemplateWarnings } from './pod/warnings.ts'
import { ageColumn, column, nameColumn } from './printed-columns.ts'

const SPEC = FieldPath.root('spec')

const isEmpty = (labels: Record<string, string> | undefined) => Object.keys(labels ?? {}).length === 0

/** The ancestor of ReplicaSet: its selector is a plain set of labels, taken from the template when left out. */
export const replicationControllerKind = defineKind<ReplicationController>({
  group: '',
  version: 'v1',
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
  shortNames: ['rc'],
  categories: ['all'],
  schema: 'io.k8s.api.core.v1.ReplicationController',
  // Clients of this old version expect that the pods stay when the controller goes.
  garbageCollection: 'orphan',
  defaults(draft) {
    draft.spec ??= {}
    const { spec } = draft
    if (spec.template) podTemplateDefaults(spec)
    const labels = spec.template?.metadata?.labels
    if (labels && !isEmpty(labels)) {
      if (isEmpty(spec.selector)) spec.selector = { ...labels }
      if (isEmpty(draft.metadata.labels)) draft.metadata.labels = { ...labels }
    }
    spec.replicas ??= 1
  },
  prepareCreate(draft) {
    draft.status = { replicas: 0 }
    draft.metadata.generation = 1
  },
  prepareUpdate: prepareUpdateWithStatus,
  validate: validateReplicationController,
  warnings(object, old) {
    const unchanged = old !== undefined && old.metadata.generation === object.metadata.generation
    return unchanged ? [] : podTemplateWarnings(object.spec?.template)
  },
  selectableFields: { 'status.replicas': (object) => String(object.status?.replicas ?? 0) },
  subresources: {
    scale: {
      type: 'scale',
      replicas: (object) => object.spec?.replicas ?? 0,
      setReplicas(draft, replicas) {
        if (draft.spec) draft.spec.replicas = replicas
      },
      statusReplicas: (object) => object.status?.replicas ?? 0,
      selector: (object) => (isEmpty(object.spec?.selector) ? '' : labelsText(object.spec?.selector)),
    },
    status: statusSubresource<ReplicationController>({ validateUpdate: validateReplicaSetStatus }),
  },
  columns: [
    nameColumn,
    column('Desired', 'Pods that are wanted.', (object) => object.spec?.replicas ?? 0, 'integer'),
    column('Current', 'Pods that exist.', (object) => object.status?.replicas ?? 0, 'integer'),
    column('Ready', 'Pods that are ready.', (object) => object.status?.readyReplicas ?? 0, 'integer'),
    ageColumn,
    ...containerColumns<ReplicationController>((object) => object.spec?.template?.spec?.containers),
    selectorColumn((object) => labelsText(object.spec?.selector)),
  ],
})

function validateReplicationController(controller: ReplicationController): FieldError[] {
  const errors: FieldError[] = []
  const spec: ReplicationControllerSpec = controller.spec ?? {}
  checkNotNegative(errors, SPEC, 'minReadySeconds', spec.minReadySeconds)
  if (isEmpty(spec.selector)) errors.push(required(SPEC.child('selector')))
  checkNotNegative(errors, SPEC, 'replicas', spec.replicas)
  if (!spec.template) {
    errors.push(required(SPEC.child('template')))
    return errors
  }
  checkTemplateLabels(spec.template, { matchLabels: spec.selector }, SPEC.child('template'), errors)
  checkRunningTemplate(spec.template, 'ReplicationController', SPEC.child('template'), errors)
  return errors
}
