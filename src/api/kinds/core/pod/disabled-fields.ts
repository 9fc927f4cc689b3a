import { isEnabled } from '../../../feature-gates.ts'
import type { PodSpec } from '../../../generated/core-v1.ts'

/** Fields of features that v1.36 leaves off are not kept, as if they had not been sent (KEP-4671, 4960, 3257, 4317). */
export function forgetFieldsOfClosedFeatures(spec: PodSpec): void {
  if (spec.schedulingGroup) delete spec.schedulingGroup
  for (const field of ['containers', 'initContainers', 'ephemeralContainers'] as const)
    for (const container of spec[field] ?? [])
      if (container.lifecycle?.stopSignal !== undefined) delete container.lifecycle.stopSignal
  for (const volume of spec.volumes ?? []) {
    for (const source of volume.projected?.sources ?? []) {
      if (source.clusterTrustBundle && !isEnabled('ClusterTrustBundleProjection')) delete source.clusterTrustBundle
      if (source.podCertificate) delete source.podCertificate
    }
  }
}
