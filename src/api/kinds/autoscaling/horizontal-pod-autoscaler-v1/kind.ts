import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec } from '../../../generated/autoscaling-v1.ts'
import { defineKind } from '../../../kind.ts'
import type { KubernetesObject } from '../../../meta/object.ts'
import { statusSubresource } from '../../../strategy.ts'
import { horizontalPodAutoscalerColumns } from '../horizontal-pod-autoscaler/columns.ts'
import { horizontalPodAutoscalerConversion } from './conversion.ts'

/** The older face of the same objects. */
export const horizontalPodAutoscalerV1Kind = defineKind<HorizontalPodAutoscaler>({
  group: 'autoscaling',
  version: 'v1',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  shortNames: ['hpa'],
  categories: ['all'],
  schema: 'io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler',
  conversion: horizontalPodAutoscalerConversion,
  defaults(draft) {
    draft.spec ??= {} as HorizontalPodAutoscalerSpec
    draft.spec.minReplicas ??= 1
  },
  subresources: { status: statusSubresource() },
  // A table shows the same cells in every version, so they are read from the newer form.
  columns: horizontalPodAutoscalerColumns.map((column) => ({
    ...column,
    value: (object: KubernetesObject, now: number) => {
      const draft = structuredClone(object)
      horizontalPodAutoscalerConversion.toStorage(draft)
      return column.value(draft as never, now)
    },
  })),
})
