import type { PersistentVolumeClaim } from '../../../generated/core-v1.ts'
import { defineKind } from '../../../kind.ts'
import { milliValue } from '../../../meta/quantity.ts'
import { ANNOTATION } from '../../../meta/well-known.ts'
import { keepField, statusSubresource } from '../../../strategy.ts'
import { printedAccessModes } from '../access-modes.ts'
import { ageColumn, column, nameColumn, wideColumn } from '../printed-columns.ts'
import { canonicalizeResources, printedQuantity, quantityIn } from '../resource-list.ts'
import { fillBothDataSources } from './data-source.ts'
import { validateClaimUpdate } from './update-validation.ts'
import { validateClaim, validateClaimStatus } from './validation.ts'

export const persistentVolumeClaimKind = defineKind<PersistentVolumeClaim>({
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  shortNames: ['pvc'],
  schema: 'io.k8s.api.core.v1.PersistentVolumeClaim',
  defaults,
  prepareCreate: (draft) => {
    draft.status = { phase: 'Pending' }
    fillBothDataSources(draft.spec!)
  },
  prepareUpdate: (draft, old) => {
    keepField(draft, old, 'status')
    fillBothDataSources(draft.spec!)
  },
  validate: validateClaim,
  validateUpdate: validateClaimUpdate,
  warnings,
  columns: [
    nameColumn,
    column<PersistentVolumeClaim>('Status', 'Whether the claim has its volume.', phase),
    column<PersistentVolumeClaim>('Volume', 'The volume that is bound to the claim.', (c) => c.spec?.volumeName ?? ''),
    column<PersistentVolumeClaim>('Capacity', 'Size of the bound volume.', capacity),
    column<PersistentVolumeClaim>('Access Modes', 'How the bound volume can be mounted.', (claim) =>
      claim.spec?.volumeName ? printedAccessModes(claim.status?.accessModes) : '',
    ),
    column<PersistentVolumeClaim>('StorageClass', 'Class of the storage that is asked for.', storageClass),
    column<PersistentVolumeClaim>(
      'VolumeAttributesClass',
      'Class of changeable attributes that is asked for.',
      (claim) => claim.spec?.volumeAttributesClassName ?? '<unset>',
    ),
    ageColumn,
    wideColumn<PersistentVolumeClaim>(
      'VolumeMode',
      'Filesystem or raw block device.',
      (claim) => claim.spec?.volumeMode ?? '<unset>',
    ),
  ],
  subresources: { status: statusSubresource<PersistentVolumeClaim>({ validateUpdate: validateClaimStatus }) },
})

function defaults(draft: PersistentVolumeClaim): void {
  draft.spec ??= {}
  draft.spec.volumeMode ??= 'Filesystem'
  canonicalizeResources(draft.spec.resources?.requests)
  canonicalizeResources(draft.spec.resources?.limits)
  canonicalizeResources(draft.status?.capacity)
  canonicalizeResources(draft.status?.allocatedResources)
}

function phase(claim: PersistentVolumeClaim): string {
  return claim.metadata.deletionTimestamp === undefined ? (claim.status?.phase ?? '') : 'Terminating'
}

function capacity(claim: PersistentVolumeClaim): string {
  return claim.spec?.volumeName ? printedQuantity(quantityIn(claim.status?.capacity, 'storage')) : ''
}

function storageClass(claim: PersistentVolumeClaim): string {
  return claim.metadata.annotations?.[ANNOTATION.betaStorageClass] ?? claim.spec?.storageClassName ?? ''
}

function warnings({ metadata, spec }: PersistentVolumeClaim): string[] {
  const messages: string[] = []
  if (metadata.annotations?.[ANNOTATION.betaStorageClass] !== undefined)
    messages.push(
      `metadata.annotations[${ANNOTATION.betaStorageClass}]: deprecated since v1.8; use "storageClassName" attribute instead`,
    )
  for (const list of ['requests', 'limits'] as const) {
    const amount = quantityIn(spec?.resources?.[list], 'storage')
    if (amount && milliValue(amount) % 1000 !== 0)
      messages.push(
        `spec.resources.${list}[storage]: fractional byte value "${printedQuantity(amount)}" is invalid, must be an integer`,
      )
  }
  return messages
}
