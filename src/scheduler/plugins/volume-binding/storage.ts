import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/generated/core-v1.ts'
import type { CSIDriver, CSINode, CSIStorageCapacity, StorageClass } from '../../../api/generated/storage-v1.ts'
import { ANNOTATION } from '../../../api/meta/well-known.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Client } from '../../../client/client.ts'
import type { VolumeWaits } from './volume-waits.ts'

/** What the volume plugins know of claims, volumes and drivers: all from informers. */
export interface Storage {
  readonly client: Client
  readonly clock: Clock
  readonly waits: VolumeWaits
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined
  volume(name: string): PersistentVolume | undefined
  /** Volumes of a storage class that nobody has claimed, or that are kept for a claim. */
  volumesOfClass(name: string): readonly PersistentVolume[]
  storageClass(name: string): StorageClass | undefined
  driver(name: string): CSIDriver | undefined
  driversOn(node: string): CSINode | undefined
  capacities(storageClass: string): readonly CSIStorageCapacity[]
  /** Pods that use a claim and have a node, or are assumed to. */
  usersOf(namespace: string, claim: string): Iterable<Pod>
  /** Calls when a claim has changed, until the returned function is called. */
  onClaimChange(listener: (claim: PersistentVolumeClaim) => void): () => void
}

/** A claim of a pod with what is known of it. */
export interface PodClaim {
  readonly name: string
  readonly claim: PersistentVolumeClaim | undefined
  readonly isEphemeral: boolean
}

export function podClaims(pod: Pod, storage: Storage): PodClaim[] {
  const { namespace = '', name: podName } = pod.metadata
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    const isEphemeral = volume.ephemeral !== undefined
    const name = isEphemeral ? `${podName}-${volume.name}` : volume.persistentVolumeClaim?.claimName
    return name === undefined ? [] : [{ name, isEphemeral, claim: storage.claim(namespace, name) }]
  })
}

export const usesClaims = (pod: Pod): boolean =>
  pod.spec?.volumes?.some((volume) => volume.persistentVolumeClaim || volume.ephemeral) ?? false

export const isBound = (claim: PersistentVolumeClaim): boolean =>
  Boolean(claim.spec?.volumeName) && claim.metadata.annotations?.[ANNOTATION.bindCompleted] !== undefined

export const nodeNameOf = (node: Node): string => node.metadata.name!
