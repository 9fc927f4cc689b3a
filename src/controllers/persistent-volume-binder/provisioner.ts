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
  /** True when it is gone; false while that takes its time: it is asked again. */
  delete(volume: PersistentVolume): Promise<boolean>
}
