import { expect, it } from 'vitest'
import type { Kind } from '../../api/kind.ts'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { volumeAttributesClassKind } from '../../api/kinds/storage/volume-attributes-class.ts'
import { admitted } from './admission.fixture.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'

it.each<[kind: Kind, before: string[] | undefined, after: string[] | undefined]>([
  [persistentVolumeClaimKind, undefined, ['kubernetes.io/pvc-protection']],
  [persistentVolumeClaimKind, ['a'], ['a', 'kubernetes.io/pvc-protection']],
  [persistentVolumeClaimKind, ['kubernetes.io/pvc-protection'], ['kubernetes.io/pvc-protection']],
  [persistentVolumeKind, undefined, ['kubernetes.io/pv-protection']],
  [volumeAttributesClassKind, undefined, ['kubernetes.io/vac-protection']],
  [configMapKind, undefined, undefined],
])('finalizers of a new object %#', async (kind, before, after) => {
  const draft = { metadata: { name: 'a', ...(before && { finalizers: before }) } }
  const result = await admitted(storageObjectInUseProtection, kind, draft)
  expect(result).toEqual({ metadata: { name: 'a', ...(after && { finalizers: after }) } })
})
