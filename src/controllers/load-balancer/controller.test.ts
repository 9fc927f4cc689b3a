import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ServiceSpec } from '../../api/generated/core-v1.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { loadBalancerController } from './controller.ts'

let plane: ControlPlane
beforeEach(async () => {
  plane = await startControlPlane({
    controllers: [(context) => loadBalancerController({ ...context, loadBalancerPools: ['10.98.0.0/29'] })],
  })
})
afterEach(() => plane[Symbol.asyncDispose]())

const services = () => plane.client.resource(serviceKind).namespace('default')

async function add(name: string, spec: Partial<ServiceSpec> = {}) {
  await services().create({ metadata: { name }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec } })
  await plane.settled()
}

const addresses = async (name: string) =>
  ((await services().get(name)).status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip)

it('gives each its own address, and keeps it', async () => {
  await add('a')
  await add('b')
  await add('internal', { type: 'ClusterIP' })
  expect([await addresses('a'), await addresses('b'), await addresses('internal')]).toEqual([
    ['10.98.0.1'],
    ['10.98.0.2'],
    [],
  ])
  await services().patch('a', { metadata: { labels: { changed: 'yes' } } })
  await plane.settled()
  expect(await addresses('a')).toEqual(['10.98.0.1'])
})

it('many at once get different ones', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  await Promise.all(names.map((name) => add(name)))
  const given = await Promise.all(names.map(addresses))
  expect(new Set(given.flat()).size).toBe(6)
})

it('gives the address that is asked for, unless another has it', async () => {
  await add('a', { loadBalancerIP: '10.98.0.5' })
  expect(await addresses('a')).toEqual(['10.98.0.5'])
  await add('b', { loadBalancerIP: '10.98.0.5' })
  expect(await addresses('b')).toEqual([])
})

it('takes the address back with the type or the Service', async () => {
  await add('a')
  await services().patch('a', { spec: { type: 'ClusterIP' } })
  await plane.settled()
  expect(await addresses('a')).toEqual([])
  await add('b')
  expect(await addresses('b')).toEqual(['10.98.0.1'])
  await services().delete('b')
  await add('c')
  expect(await addresses('c')).toEqual(['10.98.0.1'])
})

it('leaves Services of another class to others', async () => {
  await add('a', { loadBalancerClass: 'example.com/other' })
  expect(await addresses('a')).toEqual([])
})
