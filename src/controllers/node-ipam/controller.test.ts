import { afterEach, describe, expect, it } from 'vitest'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import type { ControllerContext } from '../controller.ts'
import { nodeIpamController } from './controller.ts'

let plane: ControlPlane
afterEach(() => plane[Symbol.asyncDispose]())

const start = async (...clusterCidrs: string[]) => {
  const create = (context: ControllerContext) => nodeIpamController({ ...context, clusterCidrs })
  plane = await startControlPlane({ controllers: [create] })
}
const nodes = () => plane.client.resource(nodeKind)
const add = (name: string, ...podCIDRs: string[]) =>
  nodes().create({ metadata: { name }, spec: podCIDRs.length > 0 ? { podCIDR: podCIDRs[0]!, podCIDRs } : {} })
const ranges = async () =>
  Object.fromEntries((await nodes().list()).items.map(({ metadata, spec }) => [metadata.name, spec?.podCIDRs?.join()]))

describe('nodeIpamController', () => {
  it('gives each node a range of its own', async () => {
    await start('10.244.0.0/16')
    await Promise.all([add('a'), add('b'), add('c')])
    await plane.settled()
    expect(new Set(Object.values(await ranges()))).toEqual(new Set(['10.244.0.0/24', '10.244.1.0/24', '10.244.2.0/24']))
  })

  it('leaves what a node has, and gives it to nobody else', async () => {
    await start('10.244.0.0/16')
    await add('a', '10.244.0.0/24')
    await plane.settled()
    await add('b')
    await plane.settled()
    expect(await ranges()).toEqual({ a: '10.244.0.0/24', b: '10.244.1.0/24' })
  })

  it('gives one of each family', async () => {
    await start('10.244.0.0/16', 'fd00:10:244::/56')
    await add('a')
    await plane.settled()
    expect(await ranges()).toEqual({ a: '10.244.0.0/24,fd00:10:244::/64' })
  })

  it('tells when there is none left, and uses the range of a node that went', async () => {
    await start('10.244.0.0/23')
    for (const name of ['a', 'b', 'c']) await add(name)
    await plane.settled()
    expect((await ranges()).c).toBeUndefined()
    expect(plane.events).toContain('CIDRNotAvailable: Node c status is now: CIDRNotAvailable')
    await nodes().delete('a')
    await expect.poll(ranges).toEqual({ b: '10.244.1.0/24', c: '10.244.0.0/24' })
  })
})
