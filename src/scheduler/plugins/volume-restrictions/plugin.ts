import type { Rejection, SchedulerPlugin } from '../../plugin.ts'
import { podClaims, type Storage, usesClaims } from '../volume-binding/storage.ts'

const IN_USE: Rejection = {
  plugin: 'VolumeRestrictions',
  reasons: ['node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'],
  resolvable: true,
}

/** A claim for one pod alone (ReadWriteOncePod) is not given to a second. */
export function volumeRestrictions(storage: Storage): SchedulerPlugin {
  return {
    name: 'VolumeRestrictions',
    retryOn: ['PodDelete', 'StorageChange'],
    concerns: usesClaims,
    preFilter(pod) {
      const { namespace = '', uid } = pod.metadata
      for (const { name, claim } of podClaims(pod, storage)) {
        if (!claim?.spec?.accessModes?.includes('ReadWriteOncePod')) continue
        for (const user of storage.usersOf(namespace, name)) if (user.metadata.uid !== uid) return IN_USE
      }
      return undefined
    },
  }
}
