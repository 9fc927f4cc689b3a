import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { quantityIn } from '../../api/kinds/core/resource-list.ts'
import { compareQuantities } from '../../api/meta/quantity.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'

/** Volumes of these provisioners are directories: there is nothing to resize but the books. */
const OWN_PROVISIONERS = new Set(['sampan.dev/local-path'])
const STORAGE_RESIZER = 'volume.kubernetes.io/storage-resizer'

/** Makes volumes as large as their claims ask for. */
export function persistentVolumeExpanderController({ client, informers, events }: ControllerContext): Controller {
  const claims = informers.informer(persistentVolumeClaimKind)
  const volumes = informers.informer(persistentVolumeKind)

  async function reconcile(key: string): Promise<void> {
    const claim = claims.get(key)
    const volume = claim && volumes.get(claim.spec?.volumeName ?? '')
    if (!claim || !volume || !wantsMore(claim) || volume.spec?.claimRef?.uid !== claim.metadata.uid) return
    const provisioner = volume.metadata.annotations?.[ANNOTATION.provisionedBy] ?? volume.spec?.csi?.driver
    if (provisioner !== undefined && OWN_PROVISIONERS.has(provisioner)) await expand(claim, volume)
    else await ask(claim, provisioner)
  }

  async function expand(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const storage = claim.spec!.resources!.requests!.storage!
    if (isLess(volume.spec?.capacity, { storage })) {
      const spec = { ...volume.spec, capacity: { ...volume.spec?.capacity, storage } }
      await client.resource(persistentVolumeKind).update({ ...volume, spec })
    }
    const status = { ...claim.status, capacity: { ...claim.status?.capacity, storage } }
    await client.resource(persistentVolumeClaimKind).updateStatus({ ...claim, status })
    events.event(claim, 'Normal', 'VolumeResizeSuccessful', `Resize volume succeeded`)
  }

  /** Whoever else made the volume also resizes it. */
  async function ask(claim: PersistentVolumeClaim, provisioner: string | undefined): Promise<void> {
    events.event(claim, 'Normal', 'ExternalExpanding', 'waiting for an external controller to expand this PVC')
    if (provisioner === undefined || claim.metadata.annotations?.[STORAGE_RESIZER] === provisioner) return
    const annotations = { ...claim.metadata.annotations, [STORAGE_RESIZER]: provisioner }
    await client.resource(persistentVolumeClaimKind).update({ ...claim, metadata: { ...claim.metadata, annotations } })
  }

  return {
    name: 'persistentvolume-expander-controller',
    watches: [
      watch(claims, (old, current) => (current && wantsMore(current) ? ownKey(old, current) : [])),
      watch(volumes, () => []),
    ],
    reconcile,
  }
}

function wantsMore({ spec, status }: PersistentVolumeClaim): boolean {
  return status?.phase === 'Bound' && isLess(status.capacity, spec?.resources?.requests)
}

type Sizes = Parameters<typeof quantityIn>[0]

function isLess(a: Sizes, b: Sizes): boolean {
  const [size, wanted] = [quantityIn(a, 'storage'), quantityIn(b, 'storage')]
  return size !== undefined && wanted !== undefined && compareQuantities(size, wanted) < 0
}
