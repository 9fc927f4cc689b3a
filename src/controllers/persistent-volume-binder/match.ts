import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import { quantityIn } from '../../api/kinds/core/resource-list.ts'
import { compileLabelSelector, matchesLabels } from '../../api/meta/label-selector.ts'
import { compareQuantities } from '../../api/meta/quantity.ts'
import { classOf } from './annotations.ts'

/** Why a volume that a claim asks for by name cannot be given to it; undefined if it can. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (!isBigEnough(volume, claim)) return 'requested PV is too small'
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match'
  if ((volume.spec?.volumeAttributesClassName ?? '') !== (claim.spec?.volumeAttributesClassName ?? ''))
    return 'volumeAttributesClassName does not match'
  if (modeOf(volume) !== modeOf(claim)) return 'incompatible volumeMode'
  if (!hasAccessModes(volume, claim)) return 'incompatible accessMode'
  return undefined
}

/** The volume for a claim: one that was kept for it, else the smallest that is free and fits. */
export function findVolume(
  candidates: readonly PersistentVolume[],
  claim: PersistentVolumeClaim,
): PersistentVolume | undefined {
  const selector = claim.spec?.selector && compileLabelSelector(claim.spec.selector)
  let best: PersistentVolume | undefined
  for (const volume of candidates) {
    if (volume.metadata.deletionTimestamp !== undefined) continue
    const { claimRef } = volume.spec ?? {}
    if (claimRef) {
      if (isKeptFor(volume, claim) && mismatch(volume, claim) === undefined) return volume
      continue
    }
    if (volume.status?.phase !== 'Available' || mismatch(volume, claim) !== undefined) continue
    if (selector && !matchesLabels(selector, volume.metadata.labels)) continue
    if (!best || isSmaller(volume, best)) best = volume
  }
  return best
}

/** Whether the volume names this claim; one that was kept by name alone fits any claim of that name. */
export function isKeptFor(volume: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = volume.spec ?? {}
  return (
    claimRef?.namespace === metadata.namespace &&
    claimRef?.name === metadata.name &&
    (!claimRef?.uid || claimRef.uid === metadata.uid)
  )
}

function isSmaller(a: PersistentVolume, b: PersistentVolume): boolean {
  const order = compareQuantities(sizeOf(a)!, sizeOf(b)!)
  return order < 0 || (order === 0 && (a.metadata.name ?? '') < (b.metadata.name ?? ''))
}

const sizeOf = (volume: PersistentVolume) => quantityIn(volume.spec?.capacity, 'storage')

function isBigEnough(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const wanted = quantityIn(claim.spec?.resources?.requests, 'storage')
  const size = sizeOf(volume)
  return size !== undefined && (wanted === undefined || compareQuantities(size, wanted) >= 0)
}

const modeOf = ({ spec }: PersistentVolume | PersistentVolumeClaim) => spec?.volumeMode ?? 'Filesystem'

function hasAccessModes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const modes = new Set(volume.spec?.accessModes)
  return (claim.spec?.accessModes ?? []).every((mode) => modes.has(mode))
}
