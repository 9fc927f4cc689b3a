import type { PersistentVolumeClaim } from '../../../api/generated/core-v1.ts'
import type { CycleContext, Rejection, SchedulerPlugin } from '../../plugin.ts'
import { AssumedVolumes } from './assumed-volumes.ts'
import { bindVolumes } from './bind-volumes.ts'
import { findVolumes, type VolumeChoice, volumeAllowsNode } from './find-volumes.ts'
import { isBound, podClaims, type Storage, usesClaims } from './storage.ts'

const NAME = 'VolumeBinding'
const refusal = (reason: string): Rejection => ({ plugin: NAME, reasons: [reason], resolvable: false })
const AFFINITY_CONFLICT = refusal("node(s) didn't match PersistentVolume's node affinity")
const NO_VOLUMES = refusal("node(s) didn't find available persistent volumes to bind")
const NO_SPACE = refusal('node(s) did not have enough free storage')

interface Found {
  readonly bound: readonly PersistentVolumeClaim[]
  /** Claims that wait for their first consumer. */
  readonly waiting: readonly PersistentVolumeClaim[]
  readonly byNode: Map<string, VolumeChoice>
}

/** A pod can only run where its volumes can be; volumes that wait for the pod are chosen together with the node. */
export function volumeBinding(storage: Storage): SchedulerPlugin {
  const assumed = new AssumedVolumes()
  const foundIn = (cycle: CycleContext) => cycle.data.get(NAME) as Found | undefined
  return {
    name: NAME,
    retryOn: ['NodeAdd', 'NodeUpdate', 'StorageChange'],
    concerns: usesClaims,
    preFilter(pod, cycle) {
      const bound: PersistentVolumeClaim[] = []
      const waiting: PersistentVolumeClaim[] = []
      for (const { name, claim, isEphemeral } of podClaims(pod, storage)) {
        const problem = claimProblem(name, claim, isEphemeral)
        if (problem) return refusal(problem)
        if (isBound(claim!)) bound.push(claim!)
        else if (waitsForConsumer(claim!, storage)) waiting.push(claim!)
        else return refusal('pod has unbound immediate PersistentVolumeClaims')
      }
      cycle.data.set(NAME, { bound, waiting, byNode: new Map() } satisfies Found)
      return undefined
    },
    filter(_pod, { node }, cycle) {
      const found = foundIn(cycle)!
      for (const claim of found.bound) {
        const volume = storage.volume(claim.spec!.volumeName!)
        if (!volume) return refusal(`persistentvolume "${claim.spec!.volumeName}" not found`)
        if (!volumeAllowsNode(volume, node)) return AFFINITY_CONFLICT
      }
      if (found.waiting.length === 0) return undefined
      const choice = findVolumes(found.waiting, node, storage, assumed)
      if (choice === 'none') return NO_VOLUMES
      if (choice === 'full') return NO_SPACE
      found.byNode.set(node.metadata.name!, choice)
      return undefined
    },
    reserve(_pod, nodeName, cycle) {
      const choice = foundIn(cycle)?.byNode.get(nodeName)
      if (choice) assumed.add(choice)
      return undefined
    },
    unreserve(_pod, nodeName, cycle) {
      const choice = foundIn(cycle)?.byNode.get(nodeName)
      if (choice) assumed.remove(choice)
    },
    async preBind(_pod, nodeName, cycle) {
      const choice = foundIn(cycle)?.byNode.get(nodeName)
      if (!choice) return
      await bindVolumes(choice, nodeName, storage)
      assumed.remove(choice)
    },
  }
}

function claimProblem(
  name: string,
  claim: PersistentVolumeClaim | undefined,
  isEphemeral: boolean,
): string | undefined {
  if (!claim && isEphemeral)
    return `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
  if (!claim) return `persistentvolumeclaim "${name}" not found`
  if (claim.status?.phase === 'Lost')
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName}"`
  if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`
  return undefined
}

function waitsForConsumer(claim: PersistentVolumeClaim, storage: Storage): boolean {
  const storageClass = claim.spec?.storageClassName && storage.storageClass(claim.spec.storageClassName)
  return storageClass ? storageClass.volumeBindingMode === 'WaitForFirstConsumer' : false
}
