import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { leaseKind } from '../../api/kinds/coordination/lease.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { formatMicroTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { leaseCleanerController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [leaseCleanerController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const leases = (namespace: string) => plane.client.resource(leaseKind).namespace(namespace)
const names = async (namespace: string) => (await leases(namespace).list()).items.map(({ metadata }) => metadata.name)
const create = (namespace: string, name: string, labels: Record<string, string> = {}) =>
  leases(namespace).create({
    metadata: { name, labels },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: formatMicroTime(clock.now()) },
  })
async function pass(seconds: number) {
  await plane.settled()
  await clock.advanceAsync(seconds * 1000)
  await plane.settled()
}

describe('leaseCleanerController', () => {
  it('takes the lease of a node that does not exist when it has run out', async () => {
    await plane.client.resource(nodeKind).create({ metadata: { name: 'here' } })
    await create('kube-node-lease', 'here')
    await create('kube-node-lease', 'gone')
    await pass(39)
    expect(await names('kube-node-lease')).toEqual(['gone', 'here'])
    await pass(2)
    expect(await names('kube-node-lease')).toEqual(['here'])
    await plane.client.resource(nodeKind).delete('here')
    await pass(1)
    expect(await names('kube-node-lease')).toEqual([])
  })

  it('takes the lease of an API server that stopped renewing, and no other', async () => {
    await create('kube-system', 'apiserver-a', { 'apiserver.kubernetes.io/identity': 'kube-apiserver' })
    await create('kube-system', 'kube-scheduler')
    await pass(30)
    await leases('kube-system').patch('apiserver-a', { spec: { renewTime: formatMicroTime(clock.now()) } })
    await pass(30)
    expect(await names('kube-system')).toEqual(['apiserver-a', 'kube-scheduler'])
    await pass(11)
    expect(await names('kube-system')).toEqual(['kube-scheduler'])
  })
})
