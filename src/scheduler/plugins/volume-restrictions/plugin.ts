import type { Pod } from '../../../api/generated/core-v1.ts'
import type { ClusterState } from '../../cache/cluster-state.ts'
import type { Rejection, SchedulerPlugin } from '../../plugin.ts'
import { podClaims, type Storage, usesClaims } from '../volume-binding/storage.ts'
import { hasDiskConflict, usesDisks } from './disk-conflicts.ts'

const IN_USE: Rejection = {
  plugin: 'VolumeRestrictions',
  reasons: ['node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'],
  resolvable: true,
}

const NO_DISK: Rejection = {
  plugin: 'VolumeRestrictions',
  reasons: ['node(s) had no available disk'],
  resolvable: true,
}

/**
 * A claim for one pod alone (ReadWriteOncePod) is not given to a second, on whatever node the first is; a disk that pods
 * name themselves is mounted once per node.
 */
export function volumeRestrictions(storage: Storage): SchedulerPlugin {
  return {
    name: 'VolumeRestrictions',
    retryOn: ['PodDelete', 'StorageChange'],
    concerns: (pod) => usesClaims(pod) || usesDisks(pod),
    filter(pod, view, { cluster }) {
      if (usesDisks(pod) && hasDiskConflict(pod, view.pods)) return NO_DISK
      const { namespace = '', uid } = pod.metadata
      for (const { name, claim } of podClaims(pod, storage)) {
        if (!claim?.spec?.accessModes?.includes('ReadWriteOncePod')) continue
        for (const user of storage.usersOf(namespace, name))
          if (user.metadata.uid !== uid && isThere(cluster, user)) return IN_USE
      }
      return undefined
    },
  }
}

/** While preemption tries what would be without it, a pod is not on its node. */
function isThere(cluster: ClusterState, pod: Pod): boolean {
  const placed = cluster.getPod(pod.metadata.uid!)
  return placed !== undefined && cluster.podsOn(placed.node).has(placed)
}
