import type { PersistentVolume } from '../../../generated/core-v1.ts'
import { defineKind } from '../../../kind.ts'
import { ANNOTATION } from '../../../meta/well-known.ts'
import { keepField, statusSubresource } from '../../../strategy.ts'
import { printedAccessModes } from '../access-modes.ts'
import { ageColumn, column, nameColumn, wideColumn } from '../printed-columns.ts'
import { canonicalizeResources, printedQuantity, quantityIn } from '../resource-list.ts'
import { validatePersistentVolume, validatePersistentVolumeUpdate } from './validation.ts'
import { persistentVolumeWarnings } from './warnings.ts'

export const persistentVolumeKind = defineKind<PersistentVolume>({
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  shortNames: ['pv'],
  namespaced: false,
  schema: 'io.k8s.api.core.v1.PersistentVolume',
  defaults,
  prepareCreate: (draft) => {
    draft.status = { phase: 'Pending' }
  },
  prepareUpdate: (draft, old) => keepField(draft, old, 'status'),
  validate: validatePersistentVolume,
  validateUpdate: validatePersistentVolumeUpdate,
  warnings: persistentVolumeWarnings,
  columns: [
    nameColumn,
    column<PersistentVolume>('Capacity', 'Size of the volume.', (volume) =>
      printedQuantity(quantityIn(volume.spec?.capacity, 'storage')),
    ),
    column<PersistentVolume>('Access Modes', 'How the volume can be mounted.', (volume) =>
      printedAccessModes(volume.spec?.accessModes),
    ),
    column<PersistentVolume>(
      'Reclaim Policy',
      'What happens to the volume when its claim is gone.',
      (volume) => volume.spec?.persistentVolumeReclaimPolicy ?? '',
    ),
    column<PersistentVolume>('Status', 'Whether the volume is available, bound or released.', phase),
    column<PersistentVolume>('Claim', 'The claim that has this volume.', claim),
    column<PersistentVolume>('StorageClass', 'Class the volume belongs to.', storageClass),
    column<PersistentVolume>(
      'VolumeAttributesClass',
      'Class of its changeable attributes.',
      (volume) => volume.spec?.volumeAttributesClassName ?? '<unset>',
    ),
    column<PersistentVolume>('Reason', 'Why the volume failed, in one word.', (volume) => volume.status?.reason ?? ''),
    ageColumn,
    wideColumn<PersistentVolume>(
      'VolumeMode',
      'Filesystem or raw block device.',
      (volume) => volume.spec?.volumeMode ?? '<unset>',
    ),
  ],
  subresources: {
    status: statusSubresource<PersistentVolume>({ validateUpdate: () => [] }),
  },
})

function defaults(draft: PersistentVolume): void {
  draft.spec ??= {}
  draft.spec.persistentVolumeReclaimPolicy ||= 'Retain'
  draft.spec.volumeMode ??= 'Filesystem'
  if (draft.spec.hostPath) draft.spec.hostPath.type ??= ''
  if (draft.spec.iscsi) draft.spec.iscsi.iscsiInterface ||= 'default'
  canonicalizeResources(draft.spec.capacity)
}

function phase(volume: PersistentVolume): string {
  return volume.metadata.deletionTimestamp === undefined ? (volume.status?.phase ?? '') : 'Terminating'
}

function claim({ spec }: PersistentVolume): string {
  return spec?.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : ''
}

function storageClass(volume: PersistentVolume): string {
  return volume.metadata.annotations?.[ANNOTATION.betaStorageClass] ?? volume.spec?.storageClassName ?? ''
}
