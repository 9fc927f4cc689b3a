import type { PersistentVolumeClaim, Pod, Volume } from '../../api/generated/core-v1.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { podsByClaim } from '../pods-by-claim.ts'

/** Makes the claims of generic ephemeral volumes (KEP-1698). They are their pod's, and go with it as garbage. */
export function ephemeralVolumeController({ client, informers, events }: ControllerContext): Controller {
  const pods = informers.informer(podKind, { indexes: podsByClaim })
  const claims = informers.informer(persistentVolumeClaimKind)

  async function reconcile(key: string): Promise<void> {
    const pod = pods.get(key)
    if (!pod || !isWaiting(pod)) return
    for (const volume of pod.spec?.volumes ?? []) {
      if (!volume.ephemeral) continue
      try {
        await provide(pod, volume)
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        events.event(pod, 'Warning', 'FailedBinding', `ephemeral volume ${volume.name}: ${why}`)
        throw error
      }
    }
  }

  async function provide(pod: Pod, volume: Volume): Promise<void> {
    const { namespace = '' } = pod.metadata
    const claim = claimOf(pod, volume)
    const { name = '' } = claim.metadata
    const known = claims.get(`${namespace}/${name}`)
    if (known) return checkOwner(pod, known)
    const resource = client.resource(persistentVolumeClaimKind).namespace(namespace)
    try {
      await resource.create(claim)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // The informer was behind.
      if (error.reason === 'AlreadyExists') return checkOwner(pod, await resource.get(name))
      throw new Error(`create PVC ${name}: ${error.message}`)
    }
  }

  return {
    name: 'ephemeral-volume-controller',
    workers: 5,
    watches: [
      // The volumes of a pod never change.
      watch(pods, (old, current) => (!old && current && isWaiting(current) ? ownKey(old, current) : [])),
      watch(claims, (old, current) =>
        old && !current ? pods.byIndex('claim', ownKey(old, current)[0]!).flatMap((pod) => ownKey(undefined, pod)) : [],
      ),
    ],
    reconcile,
  }
}

const isWaiting = ({ metadata, spec }: Pod) =>
  metadata.deletionTimestamp === undefined && (spec?.volumes?.some(({ ephemeral }) => ephemeral) ?? false)

function claimOf(pod: Pod, { name: volumeName, ephemeral }: Volume): PersistentVolumeClaim {
  const { name = '', uid = '' } = pod.metadata
  const { metadata: { labels, annotations } = {}, spec } = ephemeral!.volumeClaimTemplate!
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true, blockOwnerDeletion: true }
  return {
    metadata: {
      name: `${name}-${volumeName}`,
      ownerReferences: [owner],
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec,
  }
}

/** Somebody else's claim of that name may hold somebody else's data. */
function checkOwner({ metadata: pod }: Pod, { metadata: claim }: PersistentVolumeClaim): void {
  if (claim.ownerReferences?.some(({ uid, controller }) => controller && uid === pod.uid)) return
  throw new Error(
    `PVC ${claim.namespace}/${claim.name} was not created for pod ${pod.namespace}/${pod.name} (pod is not owner)`,
  )
}
