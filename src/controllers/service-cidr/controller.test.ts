import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { serviceCIDRKind } from '../../api/kinds/networking/service-cidr.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { serviceCIDRController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [serviceCIDRController] })
  await plane.settled()
})
afterEach(() => plane[Symbol.asyncDispose]())

const ranges = () => plane.client.resource(serviceCIDRKind)
const add = async (name: string, ...cidrs: string[]) => {
  await ranges().create({ metadata: { name }, spec: { cidrs } })
  await plane.settled()
}
const remove = async (name: string) => {
  await ranges().delete(name)
  await plane.settled()
  await clock.advanceAsync(10_000)
  await plane.settled()
}
const names = async () => (await ranges().list()).items.map(({ metadata }) => metadata.name)
const ready = async (name: string) =>
  (await ranges().get(name)).status?.conditions?.find(({ type }) => type === 'Ready')
const services = () => plane.client.resource(serviceKind).namespace('default')

describe('serviceCIDRController', () => {
  it('makes ranges ready and holds them', async () => {
    await add('more', '192.168.0.0/24')
    expect(await ready('more')).toMatchObject({ status: 'True', message: 'Kubernetes Service CIDR is ready' })
    expect((await ranges().get('more')).metadata.finalizers).toEqual(['networking.k8s.io/service-cidr-finalizer'])
    expect((await ready('kubernetes'))?.message).toBe('Kubernetes default Service CIDR is ready')
  })

  it('lets a range go that nobody uses', async () => {
    await add('more', '192.168.0.0/24')
    await remove('more')
    expect(await names()).toEqual(['kubernetes'])
  })

  it('keeps a range as long as an address depends on it', async () => {
    await add('more', '192.168.0.0/24')
    await services().create({ metadata: { name: 's' }, spec: { clusterIP: '192.168.0.10', ports: [{ port: 80 }] } })
    await remove('more')
    expect(await ready('more')).toMatchObject({ status: 'False', reason: 'Terminating' })
    await services().delete('s')
    await plane.settled()
    await clock.advanceAsync(10_000)
    await plane.settled()
    expect(await names()).toEqual(['kubernetes'])
  })

  it('lets a range go whose addresses another range has too', async () => {
    await add('more', '192.168.0.0/24')
    await services().create({ metadata: { name: 's' }, spec: { clusterIP: '192.168.0.10', ports: [{ port: 80 }] } })
    await add('wider', '192.168.0.0/16')
    await remove('more')
    expect(await names()).toEqual(['kubernetes', 'wider'])
  })
})
