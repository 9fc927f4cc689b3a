import type { Container, EphemeralContainer, Pod, Volume } from '../../../api/generated/core-v1.ts'
import { ANNOTATION } from '../../../api/meta/well-known.ts'

/** What a pod makes its node need, as `resource namespace/name`. */
export function podReferences(pod: Pod): Set<string> {
  const { namespace = '', name: podName = '' } = pod.metadata
  const found = new Set<string>([`pods ${namespace}/${podName}`])
  const add = (resource: string, name: string | undefined) => {
    if (name) found.add(`${resource} ${namespace}/${name}`)
  }
  const { spec } = pod
  if (!spec) return found
  // A pod that mirrors a file of the node's may name nothing: it could name what the node has no right to.
  if (pod.metadata.annotations?.[ANNOTATION.mirrorPod] !== undefined) return found
  add('serviceaccounts', spec.serviceAccountName)
  for (const secret of spec.imagePullSecrets ?? []) add('secrets', secret.name)
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])]
  for (const container of containers) addEnvironment(container, add)
  for (const volume of spec.volumes ?? []) addVolume(volume, podName, add)
  for (const claim of spec.resourceClaims ?? []) {
    const made = pod.status?.resourceClaimStatuses?.find((status) => status.name === claim.name)
    add('resourceclaims', claim.resourceClaimName ?? made?.resourceClaimName)
  }
  return found
}

type Add = (resource: string, name: string | undefined) => void

function addEnvironment({ env, envFrom }: Container | EphemeralContainer, add: Add): void {
  for (const { valueFrom } of env ?? []) {
    add('secrets', valueFrom?.secretKeyRef?.name)
    add('configmaps', valueFrom?.configMapKeyRef?.name)
  }
  for (const { secretRef, configMapRef } of envFrom ?? []) {
    add('secrets', secretRef?.name)
    add('configmaps', configMapRef?.name)
  }
}

function addVolume(volume: Volume, podName: string, add: Add): void {
  add('configmaps', volume.configMap?.name)
  add('secrets', volume.secret?.secretName)
  add('persistentvolumeclaims', volume.persistentVolumeClaim?.claimName)
  if (volume.ephemeral) add('persistentvolumeclaims', `${podName}-${volume.name}`)
  for (const { secret, configMap } of volume.projected?.sources ?? []) {
    add('secrets', secret?.name)
    add('configmaps', configMap?.name)
  }
  add('secrets', volume.azureFile?.secretName)
  const references = [volume.cephfs, volume.flexVolume, volume.iscsi, volume.rbd, volume.scaleIO, volume.storageos]
  for (const source of references) add('secrets', source?.secretRef?.name)
  add('secrets', volume.csi?.nodePublishSecretRef?.name)
}
