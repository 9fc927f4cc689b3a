import type { HorizontalPodAutoscaler } from '../../../generated/autoscaling-v2.ts'
import { defineKind } from '../../../kind.ts'
import { keepField, statusSubresource } from '../../../strategy.ts'
import { horizontalPodAutoscalerColumns } from './columns.ts'
import { horizontalPodAutoscalerDefaults } from './defaults.ts'
import { validateHorizontalPodAutoscaler, validateHorizontalPodAutoscalerStatus } from './validation.ts'

export const horizontalPodAutoscalerKind = defineKind<HorizontalPodAutoscaler>({
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  shortNames: ['hpa'],
  categories: ['all'],
  schema: 'io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler',
  defaults: horizontalPodAutoscalerDefaults,
  prepareCreate(draft) {
    draft.status = { currentReplicas: 0, desiredReplicas: 0 }
  },
  prepareUpdate(draft, old) {
    keepField(draft, old, 'status')
  },
  validate: validateHorizontalPodAutoscaler,
  subresources: { status: statusSubresource({ validateUpdate: validateHorizontalPodAutoscalerStatus }) },
  columns: horizontalPodAutoscalerColumns,
})
