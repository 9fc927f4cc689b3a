import { stat } from 'node:fs/promises'
import type { PersistentVolume, Pod, Volume } from '../../../api/generated/core-v1.ts'
import { ApiError } from '../../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { checkHostPath } from '../host-path/plugin.ts'
import type { VolumeContext, VolumePlugin } from '../volume-plugin.ts'

const CLAIMS = { group: '', version: 'v1', plural: 'persistentvolumeclaims', namespaced: true }
const VOLUMES = { group: '', version: 'v1', plural: 'persistentvolumes', namespaced: false }

interface Claim extends KubernetesObject {
  readonly spec?: { readonly volumeName?: string }
  readonly status?: { readonly phase?: string }
}

/** The volume that a claim is bound to, where it is a folder of this node. */
export const persistentVolumeClaimPlugin: VolumePlugin = {
  name: 'kubernetes.io~persistent-volume-claim',
  supports: (volume) => volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined,
  async mount({ context, pod, volume }) {
    const found = await boundVolume(context, pod, volume)
    const readOnly = volume.persistentVolumeClaim?.readOnly === true
    const { hostPath, local } = found.spec ?? {}
    if (hostPath) {
      await checkHostPath(hostPath.path, hostPath.type ?? '')
      return { path: hostPath.path, readOnly, ownedByPod: false }
    }
    if (!local) throw new Error(`no volume plugin matched name: ${found.metadata.name}`)
    if (!(await stat(local.path).catch(() => undefined))) throw new Error(`path "${local.path}" does not exist`)
    return { path: local.path, readOnly, ownedByPod: true }
  },
}

async function boundVolume(context: VolumeContext, pod: Pod, volume: Volume): Promise<PersistentVolume> {
  const { client } = context
  const { namespace = '', name: podName, uid } = pod.metadata
  const name = volume.persistentVolumeClaim?.claimName ?? `${podName}-${volume.name}`
  const claim = await client.resource<Claim>(CLAIMS).namespace(namespace).get(name).catch(unlessMissing)
  if (!claim) throw new Error(`persistentvolumeclaim "${name}" not found`)
  if (volume.ephemeral && !claim.metadata.ownerReferences?.some((owner) => owner.uid === uid))
    throw new Error(`PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`)
  if (claim.metadata.deletionTimestamp !== undefined)
    throw new Error(`error processing PVC ${namespace}/${name}: PVC is being deleted`)
  const { volumeName } = claim.spec ?? {}
  if (claim.status?.phase !== 'Bound' || !volumeName)
    throw new Error(`error processing PVC ${namespace}/${name}: PVC is not bound`)
  const found = await client.resource<PersistentVolume>(VOLUMES).get(volumeName).catch(unlessMissing)
  if (!found) throw new Error(`persistentvolume "${volumeName}" not found`)
  return found
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return undefined
  throw error
}
