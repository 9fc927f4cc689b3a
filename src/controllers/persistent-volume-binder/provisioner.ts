import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'

export interface ProvisionRequest {
  /** The name the volume will have. */
  readonly name: string
  readonly claim: PersistentVolumeClaim
  readonly storageClass: StorageClass
  /** The scheduler's choice, if the class waits for the first pod. */
  readonly node: string | undefined
}

/** Makes and destroys what is behind volumes. Both may be called again after a crash, and must then do no harm. */
export interface VolumeProvisioner {
  /** The `provisioner` of its storage classes. */
  readonly name: string
  /** The source of the new volume, and where it can be used. */
  provision(request: ProvisionRequest): Promise<Partial<NonNullable<PersistentVolume['spec']>>>
  delete(volume: PersistentVolume): Promise<void>
}

export const LOCAL_PATH_PROVISIONER = 'sampan.dev/local-path'
const DEFAULT_DIRECTORY = '/var/lib/sampan/volumes'

/** The class that a cluster begins with: a directory on the node of the first pod. */
export const localPathClass: StorageClass = {
  metadata: { name: 'local-path', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: LOCAL_PATH_PROVISIONER,
  reclaimPolicy: 'Delete',
  allowVolumeExpansion: true,
  volumeBindingMode: 'WaitForFirstConsumer',
}

/** A directory per volume; the kubelet makes it when the first pod mounts it. */
export const localPathProvisioner: VolumeProvisioner = {
  name: LOCAL_PATH_PROVISIONER,
  async provision({ name, claim, storageClass, node }) {
    const directory = storageClass.parameters?.path ?? DEFAULT_DIRECTORY
    const path = `${directory}/${name}_${claim.metadata.namespace}_${claim.metadata.name}`
    const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node ?? ''] }]
    return {
      hostPath: { path, type: 'DirectoryOrCreate' },
      ...(node !== undefined && { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } }),
    }
  },
  async delete() {},
}
