import { afterEach, describe, expect, it } from 'vitest'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { podGarbageCollectionController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
afterEach(() => plane[Symbol.asyncDispose]())

async function start(terminatedPodThreshold?: number) {
  clock = new VirtualClock()
  const limit = terminatedPodThreshold === undefined ? {} : { terminatedPodThreshold }
  plane = await startControlPlane({
    clock,
    controllers: [(context) => podGarbageCollectionController({ ...context, ...limit })],
  })
}
const pods = () => plane.client.resource(podKind).namespace('default')
const names = async () => (await pods().list()).items.map(({ metadata }) => metadata.name).sort()
const create = (name: string, nodeName?: string, finalizers: string[] = []) =>
  pods().create({
    metadata: { name, finalizers },
    spec: { containers: [{ name: 'c', image: 'i' }], ...(nodeName && { nodeName }) },
  })
const setPhase = (name: string, phase: string, reason?: string) =>
  pods().patch(name, { status: { phase, ...(reason && { reason }) } }, { subresource: 'status' })

describe('podGarbageCollectionController', () => {
  it('gives a missing node forty seconds, then takes its pods', async () => {
    await start()
    await create('orphan', 'gone', ['example.com/keep'])
    await create('free')
    await plane.settled()
    await clock.advanceAsync(39_000)
    await plane.settled()
    expect((await pods().get('orphan')).metadata.deletionTimestamp).toBeUndefined()
    await clock.advanceAsync(2_000)
    await plane.settled()
    const { metadata, status } = await pods().get('orphan')
    expect(metadata.deletionTimestamp).toBeDefined()
    expect(status?.phase).toBe('Failed')
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'DeletionByPodGC',
        message: 'PodGC: node no longer exists',
      }),
    )
    expect(await names()).toEqual(['free', 'orphan'])
  })

  it('leaves pods alone whose node appears in time', async () => {
    await start()
    await create('p', 'late')
    await plane.settled()
    await clock.advanceAsync(30_000)
    await plane.client.resource(nodeKind).create({ metadata: { name: 'late' } })
    await plane.settled()
    await clock.advanceAsync(60_000)
    await plane.settled()
    expect(await names()).toEqual(['p'])
  })

  it('takes the pods of a node that was deleted', async () => {
    await start()
    const nodes = plane.client.resource(nodeKind)
    await nodes.create({ metadata: { name: 'n' } })
    await create('p', 'n')
    await plane.settled()
    await nodes.delete('n')
    await plane.settled()
    await clock.advanceAsync(41_000)
    await plane.settled()
    expect(await names()).toEqual([])
  })

  it('takes terminating pods of a node that is out of service', async () => {
    await start()
    const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute', value: 'nodeshutdown' }]
    const nodes = plane.client.resource(nodeKind)
    await nodes.create({ metadata: { name: 'n' } })
    await create('ending', 'n')
    await create('running', 'n')
    await pods().delete('ending')
    await plane.settled()
    expect(await names()).toEqual(['ending', 'running'])
    await nodes.patch('n', { spec: { taints } })
    await plane.settled()
    expect(await names()).toEqual(['running'])
  })

  it('marks a pod failed that ends without ever having had a node', async () => {
    await start()
    await create('p', undefined, ['example.com/keep'])
    await plane.settled()
    expect((await pods().get('p')).status?.phase).toBe('Pending')
    await pods().delete('p')
    await plane.settled()
    expect((await pods().get('p')).status?.phase).toBe('Failed')
    await pods().patch('p', { metadata: { finalizers: null } })
    await plane.settled()
    expect(await names()).toEqual([])
  })

  it('keeps only so many finished pods: evicted ones go first, then the oldest', async () => {
    await start(2)
    for (const name of ['a', 'b', 'c']) {
      await create(name)
      clock.advance(1000)
    }
    await setPhase('a', 'Succeeded')
    await setPhase('b', 'Failed')
    await plane.settled()
    expect(await names()).toEqual(['a', 'b', 'c'])
    await setPhase('c', 'Failed', 'Evicted')
    await plane.settled()
    expect(await names()).toEqual(['a', 'b'])
    await create('d')
    await setPhase('d', 'Succeeded')
    await plane.settled()
    expect(await names()).toEqual(['b', 'd'])
  })
})
