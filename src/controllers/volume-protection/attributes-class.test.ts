import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { volumeAttributesClassKind } from '../../api/kinds/storage/volume-attributes-class.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { volumeAttributesClassProtectionController } from './attributes-class.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [volumeAttributesClassProtectionController] })
  const parameters = { iops: '100' }
  await classes().create({ metadata: { name: 'gold' }, driverName: 'csi.example.com', parameters })
  await plane.settled()
})
afterEach(() => plane[Symbol.asyncDispose]())

const classes = () => plane.client.resource(volumeAttributesClassKind)
const claims = () => plane.client.resource(persistentVolumeClaimKind).namespace('default')
const names = async () => (await classes().list()).items.map(({ metadata }) => metadata.name)
const deleteClass = async () => {
  await classes().delete('gold')
  await plane.settled()
}
const addClaim = (volumeAttributesClassName?: string) =>
  claims().create({
    metadata: { name: 'c' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      ...(volumeAttributesClassName && { volumeAttributesClassName }),
    },
  })

describe('volume attributes classes', () => {
  it('get the finalizer, and go at once if nobody names them', async () => {
    expect((await classes().get('gold')).metadata.finalizers).toEqual(['kubernetes.io/vac-protection'])
    await addClaim()
    await deleteClass()
    expect(await names()).toEqual([])
  })

  it('stay until the claim that asks for them is gone', async () => {
    await addClaim('gold')
    await deleteClass()
    expect(await names()).toEqual(['gold'])
    await claims().delete('c')
    await plane.settled()
    expect(await names()).toEqual([])
  })

  it('stay as long as a volume has them', async () => {
    await addClaim()
    const status = { currentVolumeAttributesClassName: 'gold' }
    await claims().patch('c', { status }, { subresource: 'status' })
    await deleteClass()
    expect(await names()).toEqual(['gold'])
    const other = { currentVolumeAttributesClassName: 'silver' }
    await claims().patch('c', { status: other }, { subresource: 'status' })
    await plane.settled()
    expect(await names()).toEqual([])
  })
})
