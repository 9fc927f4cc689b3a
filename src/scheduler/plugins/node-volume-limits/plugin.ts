import type { Pod } from '../../../api/generated/core-v1.ts'
import type { Rejection, SchedulerPlugin } from '../../plugin.ts'
import { podClaims, type Storage, usesClaims } from '../volume-binding/storage.ts'

const TOO_MANY: Rejection = {
  plugin: 'NodeVolumeLimits',
  reasons: ['node(s) exceed max volume count'],
  resolvable: true,
}

/** A driver can attach only so many volumes to a node. */
export function nodeVolumeLimits(storage: Storage): SchedulerPlugin {
  return {
    name: 'NodeVolumeLimits',
    retryOn: ['NodeAdd', 'PodDelete', 'StorageChange'],
    concerns: usesClaims,
    filter(pod, view) {
      const drivers = storage.driversOn(view.node.metadata.name!)?.spec?.drivers ?? []
      const limits = new Map(drivers.map(({ name, allocatable }) => [name, allocatable?.count]))
      const wanted = volumesByDriver([pod], storage)
      if (![...wanted.keys()].some((driver) => limits.get(driver) !== undefined)) return undefined
      const used = volumesByDriver(view.pods, storage)
      for (const [driver, volumes] of wanted) {
        const limit = limits.get(driver)
        const attached = used.get(driver) ?? new Set()
        const added = [...volumes].filter((volume) => !attached.has(volume)).length
        if (limit !== undefined && added > 0 && attached.size + added > limit) return TOO_MANY
      }
      return undefined
    },
  }
}

/** Volumes by driver; a claim that is not bound yet stands for the volume it will get. */
function volumesByDriver(pods: readonly Pod[], storage: Storage): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const pod of pods) {
    for (const { name, claim } of podClaims(pod, storage)) {
      const volume = claim?.spec?.volumeName ? storage.volume(claim.spec.volumeName) : undefined
      const driver = volume
        ? volume.spec?.csi?.driver
        : storage.storageClass(claim?.spec?.storageClassName ?? '')?.provisioner
      if (!driver) continue
      const volumes = found.get(driver) ?? new Set()
      found.set(driver, volumes.add(volume?.spec?.csi?.volumeHandle ?? `${pod.metadata.namespace}/${name}`))
    }
  }
  return found
}
