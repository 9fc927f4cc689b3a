import { describe, expect, it } from 'vitest'
import type { PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { admitted, listerOf } from './admission.fixture.ts'
import { defaultStorageClass } from './default-storage-class.ts'

const classOf = (name: string, year: number, isDefault = 'true', beta = ''): StorageClass => ({
  metadata: {
    name,
    creationTimestamp: `${year}-01-01T00:00:00Z`,
    annotations: { [`storageclass${beta}.kubernetes.io/is-default-class`]: isDefault },
  },
  provisioner: 'x',
})
const claim = (storageClassName?: string, annotations = {}): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'n', annotations },
  spec: storageClassName === undefined ? {} : { storageClassName },
})
const classes = [classOf('old', 2020), classOf('b', 2024), classOf('a', 2024), classOf('none', 2025, 'false')]
const byAnnotation = { 'volume.beta.kubernetes.io/storage-class': 'x' }

describe('DefaultStorageClass', () => {
  it.each<[why: string, classes: StorageClass[], own: PersistentVolumeClaim, expected: PersistentVolumeClaim]>([
    ['the newest default, then the first by name', classes, claim(), claim('a')],
    ['the older annotation marks a default', [classOf('beta', 2020, 'true', '.beta')], claim(), claim('beta')],
    ['no default', [classOf('none', 2025, 'false')], claim(), claim()],
    ['a class', classes, claim('mine'), claim('mine')],
    ['the empty class', classes, claim(''), claim('')],
    ['a class by annotation', classes, claim(undefined, byAnnotation), claim(undefined, byAnnotation)],
  ])('%s', async (_, all, own, expected) => {
    expect(await admitted(defaultStorageClass(listerOf(all)), persistentVolumeClaimKind, own)).toEqual(expected)
  })

  it('leaves claims alone that exist', async () => {
    const plugin = defaultStorageClass(listerOf(classes))
    expect(await admitted(plugin, persistentVolumeClaimKind, claim(), { operation: 'UPDATE' })).toEqual(claim())
  })
})
