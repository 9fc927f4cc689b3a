import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { csiDriverKind } from '../../api/kinds/storage/csi-driver.ts'
import { volumeAttachmentKind } from '../../api/kinds/storage/volume-attachment.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { volumeAttachmentController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [volumeAttachmentController] })
  await plane.client.resource(nodeKind).create({ metadata: { name: 'n' } })
  const common = { accessModes: ['ReadWriteOnce'] }
  await plane.client.resource(persistentVolumeKind).create({
    metadata: { name: 'v' },
    spec: { ...common, capacity: { storage: '1Gi' }, csi: { driver: 'csi.example.com', volumeHandle: 'h1' } },
  })
  await plane.client
    .resource(persistentVolumeClaimKind)
    .namespace('default')
    .create({
      metadata: { name: 'c' },
      spec: { ...common, volumeName: 'v', resources: { requests: { storage: '1Gi' } } },
    })
})
afterEach(() => plane[Symbol.asyncDispose]())

const attachments = async () => (await plane.client.resource(volumeAttachmentKind).list()).items
const pods = () => plane.client.resource(podKind).namespace('default')
const node = () => plane.client.resource(nodeKind).get('n')
const run = async () => {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }]
  await pods().create({
    metadata: { name: 'p' },
    spec: { nodeName: 'n', volumes, containers: [{ name: 'c', image: 'i' }] },
  })
  await plane.settled()
}
const gone = async () => {
  await pods().delete('p', { gracePeriodSeconds: 0 })
  await plane.settled()
}
const NAME = 'kubernetes.io/csi/csi.example.com^h1'

describe('volumeAttachmentController', () => {
  it('asks the driver to attach what a pod needs, and to detach it after the pod', async () => {
    await run()
    const [attachment] = await attachments()
    expect(attachment?.spec).toEqual({
      attacher: 'csi.example.com',
      nodeName: 'n',
      source: { persistentVolumeName: 'v' },
    })
    expect(attachment?.metadata.name).toMatch(/^csi-[0-9a-f]{64}$/)
    await gone()
    expect(await attachments()).toEqual([])
  })

  it('tells the kubelet what is attached', async () => {
    await run()
    const [attachment] = await attachments()
    await plane.client
      .resource(volumeAttachmentKind)
      .patch(attachment!.metadata.name!, { status: { attached: true } }, { subresource: 'status' })
    await plane.settled()
    expect((await node()).status?.volumesAttached).toEqual([{ name: NAME, devicePath: '' }])
  })

  it('waits as long as the kubelet uses the volume', async () => {
    await run()
    await plane.client.resource(nodeKind).patch('n', { status: { volumesInUse: [NAME] } }, { subresource: 'status' })
    await gone()
    expect(await attachments()).toHaveLength(1)
    await plane.client.resource(nodeKind).patch('n', { status: { volumesInUse: [] } }, { subresource: 'status' })
    await plane.settled()
    expect(await attachments()).toEqual([])
  })

  it('does not wait for a node that is out of service', async () => {
    await run()
    await plane.client.resource(nodeKind).patch('n', { status: { volumesInUse: [NAME] } }, { subresource: 'status' })
    await gone()
    expect(await attachments()).toHaveLength(1)
    const taints = [{ key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }]
    await plane.client.resource(nodeKind).patch('n', { spec: { taints } })
    await plane.settled()
    expect(await attachments()).toEqual([])
  })

  it('waits six minutes for a node that is not ready', async () => {
    await run()
    const conditions = [{ type: 'Ready', status: 'Unknown' }]
    const status = { volumesInUse: [NAME], conditions }
    await plane.client.resource(nodeKind).patch('n', { status }, { subresource: 'status' })
    await gone()
    await clock.advanceAsync(359_000)
    await plane.settled()
    expect(await attachments()).toHaveLength(1)
    await clock.advanceAsync(2_000)
    await expect.poll(attachments).toEqual([])
  })

  it('leaves alone what somebody else attached', async () => {
    const spec = { attacher: 'csi.example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } }
    await plane.client.resource(volumeAttachmentKind).create({ metadata: { name: 'by-hand' }, spec })
    await plane.settled()
    expect((await plane.client.resource(volumeAttachmentKind).get('by-hand')).metadata.name).toBe('by-hand')
  })

  it('leaves alone what its driver need not attach', async () => {
    await plane.client
      .resource(csiDriverKind)
      .create({ metadata: { name: 'csi.example.com' }, spec: { attachRequired: false } })
    await run()
    expect(await attachments()).toEqual([])
  })
})
