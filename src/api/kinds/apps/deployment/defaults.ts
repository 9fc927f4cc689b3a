import type { Deployment } from '../../../generated/apps-v1.ts'
import { podTemplateDefaults } from '../../core/pod/defaults.ts'

export function deploymentDefaults(deployment: Deployment): void {
  deployment.spec ??= {} as NonNullable<Deployment['spec']>
  const { spec } = deployment
  podTemplateDefaults(spec)
  spec.replicas ??= 1
  spec.strategy ??= {}
  const { strategy } = spec
  strategy.type ||= 'RollingUpdate'
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate ??= {}
    strategy.rollingUpdate.maxUnavailable ??= '25%'
    strategy.rollingUpdate.maxSurge ??= '25%'
  }
  spec.revisionHistoryLimit ??= 10
  spec.progressDeadlineSeconds ??= 600
}
