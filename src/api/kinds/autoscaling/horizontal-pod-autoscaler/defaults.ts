import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
  MetricSpec,
} from '../../../generated/autoscaling-v2.ts'
import { canonicalQuantity } from '../../../meta/quantity.ts'

/** In percent of what the pods asked for. */
export const DEFAULT_CPU_UTILIZATION = 80

export const cpuUtilization = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
})

/** Up quickly: at most doubled, or four more, every 15 seconds. */
const scaleUpRules = (): HPAScalingRules => ({
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
})

/** Down all the way, but after a window that the controller knows. */
const scaleDownRules = (): HPAScalingRules => ({
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
})

export function horizontalPodAutoscalerDefaults(autoscaler: HorizontalPodAutoscaler): void {
  autoscaler.spec ??= {} as HorizontalPodAutoscalerSpec
  const { spec } = autoscaler
  spec.minReplicas ??= 1
  if (!spec.metrics?.length) spec.metrics = [cpuUtilization(DEFAULT_CPU_UTILIZATION)]
  for (const metric of spec.metrics) canonicalTargets(metric)
  if (!spec.behavior) return
  spec.behavior.scaleUp = { ...scaleUpRules(), ...spec.behavior.scaleUp }
  spec.behavior.scaleDown = { ...scaleDownRules(), ...spec.behavior.scaleDown }
}

function canonicalTargets(metric: MetricSpec): void {
  for (const field of ['object', 'pods', 'resource', 'containerResource', 'external'] as const) {
    const target = metric[field]?.target
    if (!target) continue
    for (const value of ['value', 'averageValue'] as const)
      if (target[value] !== undefined) target[value] = canonicalQuantity(String(target[value])) ?? target[value]
  }
}
