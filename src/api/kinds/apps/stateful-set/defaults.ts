import type { StatefulSet } from '../../../generated/apps-v1.ts'
import { podTemplateDefaults } from '../../core/pod/defaults.ts'
import { canonicalResources } from '../../core/pod/resources.ts'

export function statefulSetDefaults(statefulSet: StatefulSet): void {
  statefulSet.spec ??= {} as NonNullable<StatefulSet['spec']>
  const { spec } = statefulSet
  podTemplateDefaults(spec)
  spec.podManagementPolicy ||= 'OrderedReady'
  spec.updateStrategy ??= {}
  const strategy = spec.updateStrategy
  if (!strategy.type) {
    strategy.type = 'RollingUpdate'
    strategy.rollingUpdate ??= {}
  }
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate) strategy.rollingUpdate.partition ??= 0
  spec.persistentVolumeClaimRetentionPolicy ??= {}
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= 'Retain'
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= 'Retain'
  spec.replicas ??= 1
  spec.revisionHistoryLimit ??= 10
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion = 'v1'
    claim.kind = 'PersistentVolumeClaim'
    claim.metadata ??= {}
    claim.spec ??= {}
    claim.spec.volumeMode ??= 'Filesystem'
    canonicalResources(claim.spec.resources)
    claim.status ??= {}
    claim.status.phase ||= 'Pending'
  }
}
