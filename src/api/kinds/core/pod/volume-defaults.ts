import type { DownwardAPIVolumeFile, Volume, VolumeProjection } from '../../../generated/core-v1.ts'
import { defaultPullPolicy } from './image.ts'

/** rw-r--r-- */
const DEFAULT_MODE = 0o644

export function volumeDefaults(volume: Volume): void {
  if (!hasSource(volume)) volume.emptyDir = {}
  if (volume.secret) volume.secret.defaultMode ??= DEFAULT_MODE
  else if (volume.configMap) volume.configMap.defaultMode ??= DEFAULT_MODE
  else if (volume.projected) projectedDefaults(volume.projected)
  else if (volume.downwardAPI) {
    volume.downwardAPI.defaultMode ??= DEFAULT_MODE
    fileDefaults(volume.downwardAPI.items)
  } else if (volume.hostPath) volume.hostPath.type ??= ''
  else if (volume.image) volume.image.pullPolicy ||= defaultPullPolicy(volume.image.reference ?? '')
  else if (volume.ephemeral?.volumeClaimTemplate?.spec)
    volume.ephemeral.volumeClaimTemplate.spec.volumeMode ??= 'Filesystem'
  else inTreeDefaults(volume)
}

function hasSource(volume: Volume): boolean {
  for (const field in volume) if (field !== 'name') return true
  return false
}

function projectedDefaults(projected: NonNullable<Volume['projected']>): void {
  projected.defaultMode ??= DEFAULT_MODE
  for (const source of projected.sources ?? []) projectionDefaults(source)
}

function projectionDefaults(source: VolumeProjection): void {
  if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= 3600
  fileDefaults(source.downwardAPI?.items)
}

function fileDefaults(files: DownwardAPIVolumeFile[] | undefined): void {
  for (const file of files ?? []) if (file.fieldRef) file.fieldRef.apiVersion ||= 'v1'
}

/** Volume types from before CSI. */
function inTreeDefaults(volume: Volume): void {
  if (volume.iscsi) volume.iscsi.iscsiInterface ||= 'default'
  if (volume.rbd) {
    volume.rbd.pool ||= 'rbd'
    volume.rbd.user ||= 'admin'
    volume.rbd.keyring ||= '/etc/ceph/keyring'
  }
  if (volume.azureDisk) {
    volume.azureDisk.cachingMode ??= 'ReadWrite'
    volume.azureDisk.kind ??= 'Shared'
    volume.azureDisk.fsType ??= 'ext4'
    volume.azureDisk.readOnly ??= false
  }
  if (volume.scaleIO) {
    volume.scaleIO.storageMode ||= 'ThinProvisioned'
    volume.scaleIO.fsType ||= 'xfs'
  }
}
