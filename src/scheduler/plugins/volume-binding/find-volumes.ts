import type { Node, PersistentVolume, PersistentVolumeClaim } from '../../../api/generated/core-v1.ts'
import type { StorageClass } from '../../../api/generated/storage-v1.ts'
import { compileLabelSelector, matchesLabels } from '../../../api/meta/label-selector.ts'
import { ANNOTATION, PROVISIONER } from '../../../api/meta/well-known.ts'
import { compileNodeSelector } from '../../cache/node-selection.ts'
import { amountOf } from '../../cache/resource-amounts.ts'
import type { AssumedVolumes } from './assumed-volumes.ts'
import type { Storage } from './storage.ts'

/** What has to be done in the API so that the claims are bound on a node. */
export interface VolumeChoice {
  readonly volumes: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[]
  readonly provisioned: readonly PersistentVolumeClaim[]
}

export function volumeAllowsNode(volume: PersistentVolume, node: Node): boolean {
  const required = volume.spec?.nodeAffinity?.required
  return !required || compileNodeSelector(required)(node)
}

/** For each claim the smallest volume that will do, or the promise of a new one. */
export function findVolumes(
  claims: readonly PersistentVolumeClaim[],
  node: Node,
  storage: Storage,
  assumed: AssumedVolumes,
): VolumeChoice | 'none' | 'full' {
  const volumes: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = []
  const provisioned: PersistentVolumeClaim[] = []
  const chosen = new Set<PersistentVolume>()
  for (const claim of [...claims].sort((a, b) => sizeOf(a) - sizeOf(b))) {
    const volume = isProvisioning(claim) ? undefined : smallestFor(claim, node, storage, assumed, chosen)
    if (volume) {
      chosen.add(volume)
      volumes.push({ claim, volume })
      continue
    }
    const answer = canProvision(claim, node, storage)
    if (answer !== true) return answer
    provisioned.push(claim)
  }
  return { volumes, provisioned }
}

const isProvisioning = (claim: PersistentVolumeClaim) =>
  claim.metadata.annotations?.[ANNOTATION.selectedNode] !== undefined

const sizeOf = (claim: PersistentVolumeClaim) => amountOf('storage', claim.spec?.resources?.requests?.storage ?? 0)

function smallestFor(
  claim: PersistentVolumeClaim,
  node: Node,
  storage: Storage,
  assumed: AssumedVolumes,
  chosen: ReadonlySet<PersistentVolume>,
): PersistentVolume | undefined {
  let best: PersistentVolume | undefined
  let bestSize = Number.POSITIVE_INFINITY
  for (const volume of storage.volumesOfClass(claim.spec?.storageClassName ?? '')) {
    if (chosen.has(volume) || assumed.isTaken(volume.metadata.name!, claim.metadata.uid!)) continue
    if (!suits(volume, claim) || !volumeAllowsNode(volume, node)) continue
    if (volume.spec?.claimRef) return volume
    const size = amountOf('storage', volume.spec?.capacity?.storage ?? 0)
    if (size < bestSize) {
      best = volume
      bestSize = size
    }
  }
  return best
}

function suits(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { claimRef, capacity, accessModes = [], volumeMode = 'Filesystem' } = volume.spec ?? {}
  if (volume.metadata.deletionTimestamp || volume.status?.phase === 'Released' || volume.status?.phase === 'Failed')
    return false
  if (claimRef && !refersTo(claimRef, claim)) return false
  if ((claim.spec?.volumeMode ?? 'Filesystem') !== volumeMode) return false
  if (amountOf('storage', capacity?.storage ?? 0) < sizeOf(claim)) return false
  if (!(claim.spec?.accessModes ?? []).every((mode) => accessModes.includes(mode))) return false
  return !claim.spec?.selector || matchesLabels(compileLabelSelector(claim.spec.selector), volume.metadata.labels)
}

function refersTo(
  reference: { readonly name?: string; readonly namespace?: string; readonly uid?: string },
  { metadata }: PersistentVolumeClaim,
): boolean {
  if (reference.name !== metadata.name || reference.namespace !== metadata.namespace) return false
  return !reference.uid || reference.uid === metadata.uid
}

function canProvision(claim: PersistentVolumeClaim, node: Node, storage: Storage): true | 'none' | 'full' {
  const storageClass = storage.storageClass(claim.spec?.storageClassName ?? '')
  if (!storageClass?.provisioner || storageClass.provisioner === PROVISIONER.none) return 'none'
  if (!isAllowedTopology(storageClass, node)) return 'none'
  if (!storage.driver(storageClass.provisioner)?.spec?.storageCapacity) return true
  return hasCapacity(claim, storageClass, node, storage) ? true : 'full'
}

function isAllowedTopology({ allowedTopologies }: StorageClass, node: Node): boolean {
  if (!allowedTopologies?.length) return true
  const labels = node.metadata.labels ?? {}
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => Object.hasOwn(labels, key) && values.includes(labels[key]!)),
  )
}

function hasCapacity(claim: PersistentVolumeClaim, { metadata }: StorageClass, node: Node, storage: Storage): boolean {
  const size = sizeOf(claim)
  return storage.capacities(metadata.name!).some(({ capacity, maximumVolumeSize, nodeTopology }) => {
    const limit = maximumVolumeSize ?? capacity
    if (limit === undefined || amountOf('storage', limit) < size) return false
    return nodeTopology !== undefined && matchesLabels(compileLabelSelector(nodeTopology), node.metadata.labels)
  })
}
