import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { ipAddressKind } from '../../api/kinds/networking/ip-address.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { ipAddressController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [ipAddressController] })
  await plane.settled()
})
afterEach(() => plane[Symbol.asyncDispose]())

const addresses = () => plane.client.resource(ipAddressKind)
const services = () => plane.client.resource(serviceKind).namespace('default')
const create = (name: string) => services().create({ metadata: { name }, spec: { ports: [{ port: 80 }] } })
const owners = async () =>
  Object.fromEntries(
    (await addresses().list()).items.map(({ metadata, spec }) => [metadata.name, spec?.parentRef.name]),
  )
const managed = {
  'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
  'ipaddress.kubernetes.io/ip-family': 'IPv4',
}
const parentRef = (name: string) => ({ group: '', resource: 'services', namespace: 'default', name })

describe('ipAddressController', () => {
  it('leaves alone what agrees', async () => {
    const { spec } = await create('s')
    await plane.settled()
    expect((await owners())[spec?.clusterIP ?? '']).toBe('s')
    expect(plane.events).toEqual([])
  })

  it('registers an address that a Service uses', async () => {
    const { spec } = await create('s')
    await addresses().delete(spec?.clusterIP ?? '')
    await plane.settled()
    expect((await owners())[spec?.clusterIP ?? '']).toBe('s')
    expect(plane.events).toEqual([
      `ClusterIPNotAllocated: Cluster IP [IPv4]:${spec?.clusterIP} is not allocated; repairing`,
    ])
  })

  it('frees an address that nobody uses, but not at once', async () => {
    await addresses().create({
      metadata: { name: '10.96.7.7', labels: managed },
      spec: { parentRef: parentRef('gone') },
    })
    await plane.settled()
    expect((await owners())['10.96.7.7']).toBe('gone')
    await clock.advanceAsync(61_000)
    await plane.settled()
    expect((await owners())['10.96.7.7']).toBeUndefined()
  })

  it('leaves alone what the user registered', async () => {
    await addresses().create({ metadata: { name: '10.96.7.7' }, spec: { parentRef: parentRef('gone') } })
    await clock.advanceAsync(120_000)
    await plane.settled()
    expect((await owners())['10.96.7.7']).toBe('gone')
  })
})
