import { deepEqual } from '../../../../base/deep-equal.ts'
import type { DaemonSet } from '../../../generated/apps-v1.ts'
import { defineKind } from '../../../kind.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { podTemplateDefaults } from '../../core/pod/defaults.ts'
import { workloadWarnings } from '../../core/pod/warnings.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'
import { containerColumns, labelsText, selectorColumn, selectorText } from '../workload-columns.ts'
import { validateDaemonSet, validateDaemonSetStatus, validateDaemonSetUpdate } from './validation.ts'

/** Counts changes of the template; older clients read it to name the pods of one template. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

export const daemonSetKind = defineKind<DaemonSet>({
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  shortNames: ['ds'],
  categories: ['all'],
  schema: 'io.k8s.api.apps.v1.DaemonSet',
  defaults(draft) {
    draft.spec ??= {} as NonNullable<DaemonSet['spec']>
    const { spec } = draft
    podTemplateDefaults(spec)
    spec.updateStrategy ??= {}
    const strategy = spec.updateStrategy
    strategy.type ||= 'RollingUpdate'
    if (strategy.type === 'RollingUpdate') {
      strategy.rollingUpdate ??= {}
      strategy.rollingUpdate.maxUnavailable ??= 1
      strategy.rollingUpdate.maxSurge ??= 0
    }
    spec.revisionHistoryLimit ??= 10
  },
  prepareCreate(draft) {
    draft.status = {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    }
    draft.metadata.generation = 1
    setTemplateGeneration(draft, 1)
  },
  prepareUpdate(draft, old) {
    prepareUpdateWithStatus(draft, old)
    const before = Number(old.metadata.annotations?.[TEMPLATE_GENERATION] ?? 1) || 1
    setTemplateGeneration(draft, deepEqual(draft.spec?.template, old.spec?.template) ? before : before + 1)
  },
  validate: validateDaemonSet,
  validateUpdate: validateDaemonSetUpdate,
  warnings: workloadWarnings,
  subresources: { status: statusSubresource({ validateUpdate: validateDaemonSetStatus }) },
  columns: [
    nameColumn,
    column('Desired', 'Nodes that should run the pod.', (o) => o.status?.desiredNumberScheduled ?? 0, 'integer'),
    column('Current', 'Nodes that have the pod.', (o) => o.status?.currentNumberScheduled ?? 0, 'integer'),
    column('Ready', 'Nodes whose pod is ready.', (o) => o.status?.numberReady ?? 0, 'integer'),
    column('Up-to-date', 'Nodes with the newest pod.', (o) => o.status?.updatedNumberScheduled ?? 0, 'integer'),
    column('Available', 'Nodes whose pod is ready long enough.', (o) => o.status?.numberAvailable ?? 0, 'integer'),
    column('Node Selector', 'Labels of the nodes that run the pod.', (o) =>
      labelsText(o.spec?.template?.spec?.nodeSelector),
    ),
    ageColumn,
    ...containerColumns<DaemonSet>((object) => object.spec?.template?.spec?.containers),
    selectorColumn((object) => selectorText(object.spec?.selector)),
  ],
})

function setTemplateGeneration(draft: DaemonSet, generation: number): void {
  draft.metadata.annotations = { ...draft.metadata.annotations, [TEMPLATE_GENERATION]: String(generation) }
}
