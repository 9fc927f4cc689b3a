import type { PersistentVolume } from '../../../api/generated/core-v1.ts'
import { LABEL } from '../../../api/meta/well-known.ts'
import type { Rejection, SchedulerPlugin } from '../../plugin.ts'
import { podClaims, type Storage, usesClaims } from '../volume-binding/storage.ts'

const OTHER_ZONE: Rejection = {
  plugin: 'VolumeZone',
  reasons: ['node(s) had no available volume zone'],
  resolvable: false,
}

/** Zones and regions of volumes, under their present and former names. */
const LABELS: ReadonlyMap<string, string> = new Map([
  [LABEL.zone, LABEL.betaZone],
  [LABEL.region, LABEL.betaRegion],
  [LABEL.betaZone, LABEL.zone],
  [LABEL.betaRegion, LABEL.region],
])

/** A volume that is labelled with zones can only be used there. */
export function volumeZone(storage: Storage): SchedulerPlugin {
  return {
    name: 'VolumeZone',
    retryOn: ['NodeAdd', 'NodeUpdate', 'StorageChange'],
    concerns: usesClaims,
    filter(pod, { node }) {
      const labels = node.metadata.labels ?? {}
      for (const { claim } of podClaims(pod, storage)) {
        const volume = claim?.spec?.volumeName ? storage.volume(claim.spec.volumeName) : undefined
        if (volume && !isInZone(volume, labels)) return OTHER_ZONE
      }
      return undefined
    },
  }
}

function isInZone(volume: PersistentVolume, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(volume.metadata.labels ?? {}).every(([key, value]) => {
    const otherName = LABELS.get(key)
    if (!otherName) return true
    const own = labels[key] ?? labels[otherName]
    return own !== undefined && value.split('__').includes(own)
  })
}
