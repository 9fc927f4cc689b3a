import { expect, it } from 'vitest'
import type { PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { admitted, listerOf } from './admission.fixture.ts'
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts'

const storageClass = (name: string, allowVolumeExpansion?: boolean): StorageClass => ({
  metadata: { name },
  provisioner: 'p',
  ...(allowVolumeExpansion !== undefined && { allowVolumeExpansion }),
})
const plugin = persistentVolumeClaimResize(
  listerOf([storageClass('grows', true), storageClass('fixed', false), storageClass('unsaid')]),
)
const claim = (storage: string, storageClassName?: string, phase = 'Bound'): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'n' },
  spec: { resources: { requests: { storage } }, ...(storageClassName !== undefined && { storageClassName }) },
  status: { phase },
})
const UNABLE =
  'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'

it.each<[why: string, now: PersistentVolumeClaim, before: PersistentVolumeClaim, refusal: string | undefined]>([
  ['grows', claim('2Gi', 'grows'), claim('1Gi', 'grows'), undefined],
  ['is not larger', claim('1024Mi', 'fixed'), claim('1Gi', 'fixed'), undefined],
  [
    'is not bound',
    claim('2Gi', 'grows', 'Pending'),
    claim('1Gi', 'grows', 'Pending'),
    'Only bound persistent volume claims can be expanded',
  ],
  ['may not', claim('2Gi', 'fixed'), claim('1Gi', 'fixed'), UNABLE],
  ['nobody says it may', claim('2Gi', 'unsaid'), claim('1Gi', 'unsaid'), UNABLE],
  ['of a class that is gone', claim('2Gi', 'gone'), claim('1Gi', 'gone'), UNABLE],
  ['of no class', claim('2Gi', ''), claim('1Gi', ''), UNABLE],
])('a claim that %s', async (_, now, before, refusal) => {
  const result = await admitted(plugin, persistentVolumeClaimKind, now, { operation: 'UPDATE', old: before })
  expect(result).toEqual(refusal === undefined ? now : `persistentvolumeclaims "c" is forbidden: ${refusal}`)
})
