import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { FINALIZER } from '../../api/meta/well-known.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { claimsOf, podsByClaim } from '../pods-by-claim.ts'
import { withFinalizer } from './finalizer.ts'

/** Keeps claims that are deleted until no pod uses them. */
export function persistentVolumeClaimProtectionController({ client, informers }: ControllerContext): Controller {
  const claims = informers.informer(persistentVolumeClaimKind)
  const pods = informers.informer(podKind, { indexes: podsByClaim })

  async function reconcile(key: string): Promise<void> {
    const claim = claims.get(key)
    if (!claim) return
    const isNeeded = !isDeleted(claim) || (await isUsed(key, claim))
    const next = isNeeded && isDeleted(claim) ? undefined : withFinalizer(claim, FINALIZER.claim, isNeeded)
    if (next) await client.resource(persistentVolumeClaimKind).update(next).catch(ignoreGone)
  }

  /** Before the last word the API itself is asked: a pod may have come that the informer has not seen. */
  async function isUsed(key: string, { metadata }: PersistentVolumeClaim): Promise<boolean> {
    if (pods.byIndex('claim', key).some(usesVolumes)) return true
    const { items } = await client
      .resource(podKind)
      .namespace(metadata.namespace ?? '')
      .list()
    return items.some((pod) => usesVolumes(pod) && claimsOf(pod).includes(key))
  }

  return {
    name: 'persistentvolumeclaim-protection-controller',
    watches: [
      watch(claims, (old, current) =>
        current && (isDeleted(current) || withFinalizer(current, FINALIZER.claim, true)) ? ownKey(old, current) : [],
      ),
      // Only claims that wait for it care about a pod.
      watch(pods, (old, current) => {
        const keys = claimsOf((current ?? old)!)
        return keys.length === 0 ? keys : keys.filter((key) => isDeleted(claims.get(key)))
      }),
    ],
    reconcile,
  }
}

/** Keeps volumes that are deleted until no claim is bound to them. */
export function persistentVolumeProtectionController({ client, informers }: ControllerContext): Controller {
  const volumes = informers.informer(persistentVolumeKind)

  async function reconcile(name: string): Promise<void> {
    const volume = volumes.get(name)
    if (!volume) return
    if (isDeleted(volume) && volume.status?.phase === 'Bound') return
    const next = withFinalizer(volume, FINALIZER.volume, !isDeleted(volume))
    if (next) await client.resource(persistentVolumeKind).update(next).catch(ignoreGone)
  }

  return {
    name: 'persistentvolume-protection-controller',
    watches: [
      watch(volumes, (old, current) =>
        current && (isDeleted(current) || withFinalizer(current, FINALIZER.volume, true)) ? ownKey(old, current) : [],
      ),
    ],
    reconcile,
  }
}

const isDeleted = (object: PersistentVolume | PersistentVolumeClaim | undefined) =>
  object?.metadata.deletionTimestamp !== undefined

/** A kubelet does not start a pod whose claim is being deleted, so only pods that have a node count. */
const usesVolumes = (pod: Pod) =>
  Boolean(pod.spec?.nodeName) &&
  !(pod.metadata.deletionTimestamp !== undefined && pod.metadata.deletionGracePeriodSeconds === 0)

function ignoreGone(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return
  throw error
}
