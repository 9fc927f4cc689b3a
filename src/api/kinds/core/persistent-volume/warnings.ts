import type { PersistentVolume } from '../../../generated/core-v1.ts'
import { ANNOTATION } from '../../../meta/well-known.ts'

const ANNOTATIONS: Readonly<Record<string, string>> = {
  [ANNOTATION.betaStorageClass]: 'deprecated since v1.8; use "storageClassName" attribute instead',
  'volume.beta.kubernetes.io/mount-options': 'deprecated since v1.31; use "mountOptions" attribute instead',
}
const SOURCES = {
  cephfs: ['spec.cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  photonPersistentDisk: ['spec.photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  scaleIO: ['spec.scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  storageos: ['spec.storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  glusterfs: ['spec.glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  rbd: ['spec.rbd', 'deprecated in v1.28, non-functional in v1.31+'],
} as const

export function persistentVolumeWarnings({ metadata, spec }: PersistentVolume): string[] {
  const messages: string[] = []
  for (const key in ANNOTATIONS)
    if (metadata.annotations?.[key] !== undefined) messages.push(`metadata.annotations[${key}]: ${ANNOTATIONS[key]}`)
  if (spec?.persistentVolumeReclaimPolicy === 'Recycle')
    messages.push(
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    )
  for (const [field, [path, message]] of Object.entries(SOURCES))
    if (spec?.[field as keyof typeof SOURCES] !== undefined) messages.push(`${path}: ${message}`)
  return messages
}
