import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { persistentVolumeClaimProtectionController, persistentVolumeProtectionController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({
    controllers: [persistentVolumeClaimProtectionController, persistentVolumeProtectionController],
  })
})
afterEach(() => plane[Symbol.asyncDispose]())

const claims = () => plane.client.resource(persistentVolumeClaimKind).namespace('default')
const volumes = () => plane.client.resource(persistentVolumeKind)
const pods = () => plane.client.resource(podKind).namespace('default')
const capacity = { storage: '1Gi' }
const addClaim = async () => {
  await claims().create({
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: capacity } },
  })
  await plane.settled()
}
const addPod = async (name: string, nodeName?: string) => {
  const volume = { name: 'v', persistentVolumeClaim: { claimName: 'c' } }
  const spec = { volumes: [volume], containers: [{ name: 'c', image: 'i' }], ...(nodeName && { nodeName }) }
  await pods().create({ metadata: { name }, spec })
  await plane.settled()
}
const names = async () => (await claims().list()).items.map(({ metadata }) => metadata.name)

describe('claims', () => {
  it('get the finalizer, and go at once if no pod uses them', async () => {
    await addClaim()
    expect((await claims().get('c')).metadata.finalizers).toEqual(['kubernetes.io/pvc-protection'])
    await claims().delete('c')
    await plane.settled()
    expect(await names()).toEqual([])
  })

  it('stay until the last pod that uses them is gone', async () => {
    await addClaim()
    await addPod('a', 'n')
    await addPod('b', 'n')
    await claims().delete('c')
    await plane.settled()
    await pods().delete('a', { gracePeriodSeconds: 0 })
    await plane.settled()
    expect(await names()).toEqual(['c'])
    await pods().delete('b', { gracePeriodSeconds: 0 })
    await plane.settled()
    expect(await names()).toEqual([])
  })

  it('do not wait for pods without a node', async () => {
    await addClaim()
    await addPod('a')
    await claims().delete('c')
    await plane.settled()
    expect(await names()).toEqual([])
  })
})

describe('volumes', () => {
  it('stay as long as they are bound', async () => {
    const spec = { capacity, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } }
    await volumes().create({ metadata: { name: 'v' }, spec })
    await plane.settled()
    expect((await volumes().get('v')).metadata.finalizers).toEqual(['kubernetes.io/pv-protection'])
    await volumes().patch('v', { status: { phase: 'Bound' } }, { subresource: 'status' })
    await volumes().delete('v')
    await plane.settled()
    expect((await volumes().get('v')).metadata.deletionTimestamp).toBeDefined()
    await volumes().patch('v', { status: { phase: 'Released' } }, { subresource: 'status' })
    await plane.settled()
    expect((await volumes().list()).items).toEqual([])
  })
})
