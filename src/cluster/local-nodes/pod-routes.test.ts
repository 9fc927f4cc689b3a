import { expect, test } from 'vitest'
import type { Node } from '../../api/generated/core-v1.ts'
import type { Listener } from '../../client/informer.ts'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { LocalNetwork } from './local-network.ts'
import { followPodRanges } from './pod-routes.ts'

const routed = ['10.96.0.0/16', '10.244.0.0/16']

const nodeOf = (name: string, ...podCIDRs: string[]): Node => ({ metadata: { name }, spec: { podCIDRs } })

async function clusterOn(linux: ReturnType<typeof fakeLinux>, id: string) {
  const network = await LocalNetwork.open({ linux, id, routed })
  const nodes = ['node-1', 'node-2'].map((name, index) => network.addNode(name, index + 1))
  network.routeThrough(nodes[0]!)
  let tell: Listener<Node> = () => {}
  followPodRanges(network, nodes, {
    onChange(listener) {
      tell = listener
      return () => {}
    },
  })
  return { tell: (old: Node | undefined, current: Node | undefined) => tell(old, current) }
}

function waysTo(linux: ReturnType<typeof fakeLinux>): Record<string, string | undefined> {
  using network = linux.openRtnetlink()
  const toPods = network.routes().filter(({ destination }) => destination.startsWith('10.244.'))
  return Object.fromEntries(toPods.map(({ destination, gateway }) => [destination, gateway]))
}

test('pods are reached through their own node, for as long as it has the range', async () => {
  const linux = fakeLinux()
  const { tell } = await clusterOn(linux, 'abc')
  tell(undefined, nodeOf('node-2'))
  tell(nodeOf('node-2'), nodeOf('node-2', '10.244.1.0/24', 'fd00:1::/64'))
  tell(undefined, nodeOf('elsewhere', '10.244.9.0/24'))
  expect(waysTo(linux)).toEqual({ '10.244.0.0/16': '172.30.0.2', '10.244.1.0/24': '172.30.0.3' })
  tell(nodeOf('node-2', '10.244.1.0/24'), nodeOf('node-2', '10.244.2.0/24'))
  expect(waysTo(linux)).toEqual({ '10.244.0.0/16': '172.30.0.2', '10.244.2.0/24': '172.30.0.3' })
  tell(nodeOf('node-2', '10.244.2.0/24'), undefined)
  expect(waysTo(linux)).toEqual({ '10.244.0.0/16': '172.30.0.2' })
})

test('a cluster that has come to the same ranges leaves the routes of the first', async () => {
  const linux = fakeLinux()
  const first = await clusterOn(linux, 'abc')
  const second = await clusterOn(linux, 'def')
  for (const { tell } of [first, second]) tell(undefined, nodeOf('node-2', '10.244.1.0/24'))
  second.tell(undefined, nodeOf('node-1', '10.244.0.0/24'))
  second.tell(nodeOf('node-2', '10.244.1.0/24'), undefined)
  expect(waysTo(linux)).toEqual({ '10.244.0.0/16': '172.30.0.2', '10.244.1.0/24': '172.30.0.3' })
})
