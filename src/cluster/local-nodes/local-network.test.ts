import { expect, test } from 'vitest'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { encodeValue } from '../../linux/nft-values.ts'
import { LocalNetwork } from './local-network.ts'

const routed = ['10.96.0.0/16', '10.244.0.0/16']

test('nodes are namespaces on one bridge, with a way out', async () => {
  const linux = fakeLinux()
  const network = await LocalNetwork.open({ linux, id: 'abc', routed })
  expect(network.gateway).toBe('172.30.0.1')
  const nodes = ['node-1', 'node-2'].map((name, index) => network.addNode(name, index + 1))
  expect(nodes.map((node) => node.address)).toEqual(['172.30.0.2', '172.30.0.3'])
  network.routeThrough(nodes[0]!)
  using inside = linux.openRtnetlink(linux.namespaces.open('sampan-abc-node-2'))
  expect(inside.routes()).toContainEqual(expect.objectContaining({ destination: '0.0.0.0/0', gateway: '172.30.0.1' }))
  using outside = linux.openRtnetlink()
  expect(outside.routes()).toContainEqual(
    expect.objectContaining({ destination: '10.244.0.0/16', gateway: '172.30.0.2' }),
  )
  expect(linux.openSysctl().read('net/ipv4/ip_forward')).toBe('1')
})

test('what an earlier process made is found again', async () => {
  const linux = fakeLinux()
  const first = await LocalNetwork.open({ linux, id: 'abc', routed })
  const node = first.addNode('node-1', 1)
  const again = await LocalNetwork.open({ linux, id: 'abc', routed })
  expect(again.addNode('node-1', 1)).toEqual(node)
  expect(again.gateway).toBe(first.gateway)
})

test('two clusters have two networks', async () => {
  const linux = fakeLinux()
  await LocalNetwork.open({ linux, id: 'abc', routed })
  const other = await LocalNetwork.open({ linux, id: 'def', routed })
  expect(other.gateway).toBe('172.30.1.1')
})

test('nothing is left', async () => {
  const linux = fakeLinux()
  using outside = linux.openRtnetlink()
  const links = outside.links().length
  const network = await LocalNetwork.open({ linux, id: 'abc', routed })
  network.routeThrough(network.addNode('node-1', 1))
  await network.remove()
  expect(linux.namespaces.list()).toEqual([])
  expect(outside.links()).toHaveLength(links)
  expect(outside.routes()).toEqual([])
  using nftables = linux.openNftables()
  expect(nftables.tables()).toEqual([])
})

test('links that the kernel takes away meanwhile are no error', async () => {
  const linux = fakeLinux()
  const network = await LocalNetwork.open({ linux, id: 'abc', routed })
  network.addNode('node-1', 1)
  using outside = linux.openRtnetlink()
  linux.openRtnetlink = () => {
    const late = Object.create(outside) as typeof outside
    late.links = () => {
      const links = outside.links()
      for (const { index, master } of links) if (master !== undefined) outside.deleteLink(index)
      return links
    }
    late[Symbol.dispose] = () => {}
    return late
  }
  await network.remove()
  expect(outside.link('sampan-abc')).toBeUndefined()
})

const forwards = (linux: ReturnType<typeof fakeLinux>) => linux.openSysctl().read('net/ipv4/ip_forward')

test('forwarding is off again if it was, after the last cluster', async () => {
  const linux = fakeLinux()
  const first = await LocalNetwork.open({ linux, id: 'abc', routed })
  const second = await LocalNetwork.open({ linux, id: 'def', routed })
  expect(forwards(linux)).toBe('1')
  // As another process that finds them.
  await LocalNetwork.open({ linux, id: 'abc', routed })
  await first.remove()
  expect(forwards(linux)).toBe('1')
  await second.remove()
  expect(forwards(linux)).toBe('0')
})

test.each<[string, (linux: ReturnType<typeof fakeLinux>) => void]>([
  ['it was on before', (linux) => linux.openSysctl().write('net/ipv4/ip_forward', 1)],
  [
    'others have a bridge',
    (linux) => void linux.openRtnetlink().addLink({ kind: 'bridge', name: 'docker0', up: true }),
  ],
])('forwarding stays on if %s', async (_, prepare) => {
  const linux = fakeLinux()
  prepare(linux)
  const network = await LocalNetwork.open({ linux, id: 'abc', routed })
  await network.remove()
  expect(forwards(linux)).toBe('1')
})

test('what stays on the bridge keeps its source', async () => {
  const linux = fakeLinux()
  await LocalNetwork.open({ linux, id: 'abc', routed })
  using nftables = linux.openNftables()
  const [rule] = nftables.list({ family: 'ip', name: 'sampan-abc' })!.rules
  const isOut = { expr: 'compare', from: 0, op: 'ne', value: encodeValue('ifname', 'sampan-abc') }
  const at = rule!.expressions.findIndex((one) => one.expr === 'meta' && one.key === 'oifname')
  expect(rule!.expressions[at + 1]).toEqual(isOut)
})

test('neighbours do not reach what is behind the bridge, except from where they are allowed to', async () => {
  const linux = fakeLinux()
  const allowed = { links: ['wg0'], cidrs: ['192.0.2.0/24'] }
  await LocalNetwork.open({ linux, id: 'abc', routed, allowed })
  using nftables = linux.openNftables()
  const table = nftables.list({ family: 'ip', name: 'sampan-abc' })
  const first = (name: string) =>
    table!.sets.filter((set) => set.name === name).flatMap((set) => nftables.elements(set).map(addressOf))
  expect(first('ip-guarded').sort()).toEqual(['10.244.0.0', '10.96.0.0', '172.30.0.0'])
  expect(first('ip-friends')).toEqual(['192.0.2.0'])
  expect(table?.chains.find(({ name }) => name === 'neighbours')).toMatchObject({
    base: { type: 'filter', hook: 'prerouting' },
  })
})

test('ranges that another cluster of the machine has are not guarded by this one', async () => {
  const linux = fakeLinux()
  const first = await LocalNetwork.open({ linux, id: 'abc', routed })
  first.routeThrough(first.addNode('node-1', 1))
  await LocalNetwork.open({ linux, id: 'def', routed })
  using nftables = linux.openNftables()
  const table = nftables.list({ family: 'ip', name: 'sampan-def' })
  const guarded = table!.sets.find(({ name }) => name === 'ip-guarded')!
  expect(nftables.elements(guarded).map(addressOf)).toEqual(['172.30.1.0'])
})

const addressOf = ({ key }: { readonly key: Uint8Array }) => [...key].join('.')
