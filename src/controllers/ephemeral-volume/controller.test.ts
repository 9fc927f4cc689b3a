import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { ephemeralVolumeController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [ephemeralVolumeController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const claims = () => plane.client.resource(persistentVolumeClaimKind).namespace('default')
const pods = () => plane.client.resource(podKind).namespace('default')
const names = async () => (await claims().list()).items.map(({ metadata }) => metadata.name)
const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'fast' }

async function addPod(name: string, volumes: readonly object[]) {
  const containers = [{ name: 'c', image: 'i' }]
  const pod = await pods().create({ metadata: { name }, spec: { containers, volumes: volumes as never } })
  await plane.settled()
  return pod
}
const ephemeral = (name: string, metadata?: object) => ({
  name,
  ephemeral: { volumeClaimTemplate: { ...(metadata && { metadata }), spec } },
})

describe('generic ephemeral volumes', () => {
  it('get a claim each, as their template says, owned by the pod', async () => {
    const labels = { app: 'web' }
    const annotations = { note: 'x' }
    const { uid } = (
      await addPod('p', [{ name: 'e', emptyDir: {} }, ephemeral('a', { labels, annotations }), ephemeral('b')])
    ).metadata
    expect(await names()).toEqual(['p-a', 'p-b'])
    const claim = await claims().get('p-a')
    expect(claim.metadata).toMatchObject({ labels, annotations })
    expect(claim.metadata.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller: true, blockOwnerDeletion: true },
    ])
    expect(claim.spec).toMatchObject(spec)
  })

  it('get it again if somebody deletes it', async () => {
    await addPod('p', [ephemeral('a')])
    const { uid } = (await claims().get('p-a')).metadata
    await claims().delete('p-a')
    await plane.settled()
    expect((await claims().get('p-a')).metadata.uid).not.toBe(uid)
  })

  it('do not take over a claim of somebody else, and say so', async () => {
    await claims().create({ metadata: { name: 'p-a' }, spec })
    await addPod('p', [ephemeral('a')])
    expect(await names()).toEqual(['p-a'])
    expect((await claims().get('p-a')).metadata.ownerReferences).toBe(undefined)
    expect(plane.events).toContain(
      'FailedBinding: ephemeral volume a: PVC default/p-a was not created for pod default/p (pod is not owner)',
    )
  })

  it('of other pods are let be', async () => {
    await addPod('p', [{ name: 'e', emptyDir: {} }])
    expect(await names()).toEqual([])
  })
})
