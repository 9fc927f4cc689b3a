import { beforeEach, describe, expect, test } from 'vitest'
import type { Linux } from './linux.ts'
import type { NetworkNamespace } from './network-namespace.ts'
import { type Link, LOCAL_TABLE, LOOPBACK_INDEX, type NetworkEvent, type Rtnetlink } from './rtnetlink.ts'
import { codeOf, scratch } from './scratch.contract.ts'

/** What the kernel adds by itself, when it has the time. */
const isLinkLocal = (address: string) => address.startsWith('fe80:') || address.startsWith('ff00:')
const addressesOf = (network: Rtnetlink) => network.addresses().filter(({ address }) => !isLinkLocal(address))
const routesOf = (network: Rtnetlink, table?: number) =>
  network.routes(table).filter(({ destination }) => !isLinkLocal(destination))

export function rtnetlinkContract(name: string, open: () => Linux): void {
  describe(`rtnetlink: ${name}`, () => {
    const start = scratch(open)
    let host: Rtnetlink
    let pod: Rtnetlink
    let podNamespace: NetworkNamespace
    let bridge: Link
    let veth: Link
    let eth0: Link

    beforeEach(() => {
      const { linux, namespace, use } = start()
      podNamespace = namespace()
      host = use(linux.openRtnetlink(namespace()))
      pod = use(linux.openRtnetlink(podNamespace))
      bridge = host.addLink({ kind: 'bridge', name: 'cni0', up: true, hardwareAddress: '02:00:00:00:00:01' })
      const peer = { name: 'eth0', mtu: 1450, hardwareAddress: '02:00:00:00:00:05', namespace: podNamespace }
      veth = host.addLink({ kind: 'veth', name: 'veth5', mtu: 1450, up: true, master: bridge.index, peer })
      eth0 = pod.link('eth0')!
    })

    /** The pod's end up, with addresses of both families. */
    function configure(): void {
      pod.changeLink(eth0.index, { up: true })
      pod.addAddress({ link: eth0.index, address: '10.244.0.5/24' })
      pod.addAddress({ link: eth0.index, address: 'fd00:10:244::5/64' })
    }

    test('a namespace begins with loopback, down', () => {
      const { linux, namespace, use } = start()
      const links = use(linux.openRtnetlink(namespace())).links()
      expect(links).toEqual([
        { index: LOOPBACK_INDEX, name: 'lo', up: false, mtu: 65536, hardwareAddress: '00:00:00:00:00:00' },
      ])
    })

    test('a veth pair has one end on the bridge and the other in the pod', () => {
      expect(veth).toMatchObject({
        name: 'veth5',
        kind: 'veth',
        up: true,
        mtu: 1450,
        master: bridge.index,
        hairpin: false,
      })
      expect(host.link('eth0')).toBeUndefined()
      expect(eth0).toMatchObject({ kind: 'veth', up: false, mtu: 1450, hardwareAddress: '02:00:00:00:00:05' })
      expect(eth0.master).toBeUndefined()
    })

    test('links are changed', () => {
      host.changeLink(veth.index, { hairpin: true, name: 'veth6', mtu: 1400 })
      expect(host.link('veth5')).toBeUndefined()
      expect(host.link('veth6')).toMatchObject({ index: veth.index, hairpin: true, mtu: 1400, up: true })
      host.changeLink(veth.index, { master: 0, up: false, hardwareAddress: '02:00:00:00:00:77' })
      const changed = host.link('veth6')!
      expect(changed).toMatchObject({ up: false, hardwareAddress: '02:00:00:00:00:77' })
      expect(changed.master).toBeUndefined()
    })

    test('a link goes with its other end', () => {
      host.deleteLink(veth.index)
      expect(host.link('veth5')).toBeUndefined()
      expect(pod.link('eth0')).toBeUndefined()
    })

    test('the ports of a bridge outlive it', () => {
      host.deleteLink(bridge.index)
      expect(host.link('veth5')?.master).toBeUndefined()
    })

    test.each<[string, string, () => unknown]>([
      ['the same name', 'EEXIST', () => host.addLink({ kind: 'bridge', name: 'cni0' })],
      [
        'the same name of the other end',
        'EEXIST',
        () => host.addLink({ kind: 'veth', name: 'v', peer: { name: 'cni0' } }),
      ],
      ['a long name', 'ERANGE', () => host.addLink({ kind: 'bridge', name: 'x'.repeat(16) })],
      ['a name with a slash', 'EINVAL', () => host.addLink({ kind: 'bridge', name: 'a/b' })],
      ['a missing bridge', 'EINVAL', () => host.addLink({ kind: 'veth', name: 'v', master: 99, peer: { name: 'w' } })],
      ['changing what is not there', 'ENODEV', () => host.changeLink(99, { up: true })],
      ['renaming to a name in use', 'EEXIST', () => host.changeLink(veth.index, { name: 'cni0' })],
      ['hairpin of no port', 'EOPNOTSUPP', () => host.changeLink(bridge.index, { hairpin: true })],
      ['deleting what is not there', 'ENODEV', () => host.deleteLink(99)],
      ['deleting loopback', 'EOPNOTSUPP', () => host.deleteLink(LOOPBACK_INDEX)],
    ])('links: %s is %s', (_name, code, work) => {
      const before = host.links()
      expect(codeOf(work)).toBe(code)
      expect(host.links()).toEqual(before)
    })

    test('an address brings the route to its network', () => {
      configure()
      expect(addressesOf(pod)).toEqual([
        { link: eth0.index, address: '10.244.0.5/24' },
        { link: eth0.index, address: 'fd00:10:244::5/64' },
      ])
      expect(routesOf(pod)).toEqual([
        { destination: '10.244.0.0/24', link: eth0.index, source: '10.244.0.5' },
        { destination: 'fd00:10:244::/64', link: eth0.index, metric: 256 },
      ])
      pod.deleteAddress({ link: eth0.index, address: '10.244.0.5/24' })
      expect(addressesOf(pod)).toEqual([{ link: eth0.index, address: 'fd00:10:244::5/64' }])
      expect(routesOf(pod)).toHaveLength(1)
    })

    test('an address is local as soon as the kernel takes packets for it', async () => {
      configure()
      const local = () =>
        pod
          .routes(LOCAL_TABLE)
          .filter(({ type, destination }) => type === 'local' && /^(10|fd00)/.test(destination))
          .map(({ destination, link }) => ({ destination, link }))
      await expect.poll(local).toEqual([
        { destination: '10.244.0.5/32', link: eth0.index },
        { destination: 'fd00:10:244::5/128', link: eth0.index },
      ])
      pod.deleteAddress({ link: eth0.index, address: 'fd00:10:244::5/64' })
      await expect.poll(local).toHaveLength(1)
    })

    test('a whole address brings no route, an address on a link that is down one when it comes up', () => {
      pod.addAddress({ link: eth0.index, address: '10.244.0.5/24' })
      pod.addAddress({ link: eth0.index, address: '10.9.9.9/32' })
      expect(routesOf(pod)).toEqual([])
      pod.changeLink(eth0.index, { up: true })
      expect(routesOf(pod)).toEqual([{ destination: '10.244.0.0/24', link: eth0.index, source: '10.244.0.5' }])
      pod.changeLink(eth0.index, { up: false })
      expect(routesOf(pod)).toEqual([])
      expect(addressesOf(pod)).toHaveLength(2)
    })

    test.each<[string, string, () => void]>([
      ['adding one twice', 'EEXIST', () => pod.addAddress({ link: eth0.index, address: '10.244.0.5/24' })],
      [
        'an IPv6 one with another prefix',
        'EEXIST',
        () => pod.addAddress({ link: eth0.index, address: 'fd00:10:244::5/65' }),
      ],
      ['an IPv4 one with another prefix', 'ok', () => pod.addAddress({ link: eth0.index, address: '10.244.0.5/25' })],
      ['one on no link', 'ENODEV', () => pod.addAddress({ link: 99, address: '10.1.0.5/24' })],
      [
        'deleting what is not there',
        'EADDRNOTAVAIL',
        () => pod.deleteAddress({ link: eth0.index, address: '10.1.0.5/24' }),
      ],
      [
        'deleting with another prefix',
        'EADDRNOTAVAIL',
        () => pod.deleteAddress({ link: eth0.index, address: '10.244.0.5/26' }),
      ],
      ['deleting an IPv6 one', 'EADDRNOTAVAIL', () => pod.deleteAddress({ link: eth0.index, address: 'fd00::9/64' })],
    ])('addresses: %s is %s', (_name, code, work) => {
      configure()
      expect(codeOf(work)).toBe(code)
    })

    test('routes are added, replaced and deleted', () => {
      configure()
      const link = eth0.index
      pod.addRoute({ destination: '0.0.0.0/0', gateway: '10.244.0.1' })
      pod.addRoute({ destination: '::/0', gateway: 'fd00:10:244::1', link })
      pod.addRoute({ destination: '10.245.0.0/24', gateway: '192.0.2.1', link, onlink: true })
      pod.addRoute({ destination: '10.246.0.0/24', type: 'blackhole' })
      pod.addRoute({ destination: '10.247.0.0/24', link, source: '10.244.0.5', metric: 7 })
      pod.replaceRoute({ destination: '0.0.0.0/0', gateway: '10.244.0.2', link })
      pod.replaceRoute({ destination: '10.248.0.0/24', link })
      pod.deleteRoute({ destination: '10.246.0.0/24' })
      const set = routesOf(pod).filter(({ destination }) => !destination.includes('244'))
      expect(set.sort((a, b) => (a.destination < b.destination ? -1 : 1))).toEqual([
        { destination: '0.0.0.0/0', gateway: '10.244.0.2', link },
        { destination: '10.245.0.0/24', gateway: '192.0.2.1', link, onlink: true },
        { destination: '10.247.0.0/24', link, source: '10.244.0.5', metric: 7 },
        { destination: '10.248.0.0/24', link },
        { destination: '::/0', gateway: 'fd00:10:244::1', link },
      ])
    })

    test('tables are apart', () => {
      configure()
      const route = { destination: '10.99.0.0/16', link: eth0.index, table: 1000 }
      pod.addRoute(route)
      expect(pod.routes(1000)).toEqual([route])
      expect(routesOf(pod)).not.toContainEqual(route)
      expect(codeOf(() => pod.deleteRoute({ destination: '10.99.0.0/16' }))).toBe('ESRCH')
      pod.deleteRoute(route)
      expect(pod.routes(1000)).toEqual([])
    })

    test.each<[string, string, () => void]>([
      ['one that is there', 'EEXIST', () => pod.addRoute({ destination: '10.244.0.0/24', link: eth0.index })],
      [
        'one with another metric',
        'ok',
        () => pod.addRoute({ destination: '10.244.0.0/24', link: eth0.index, metric: 9 }),
      ],
      [
        'an unreachable gateway',
        'ENETUNREACH',
        () => pod.addRoute({ destination: '10.8.0.0/16', gateway: '10.1.0.1', link: eth0.index }),
      ],
      [
        'an unreachable IPv6 gateway',
        'EHOSTUNREACH',
        () => pod.addRoute({ destination: 'fd08::/64', gateway: 'fd01::1', link: eth0.index }),
      ],
      ['host bits', 'EINVAL', () => pod.addRoute({ destination: '10.8.0.1/16', link: eth0.index })],
      ['no link', 'ENODEV', () => pod.addRoute({ destination: '10.8.0.0/16' })],
      ['a missing link', 'ENODEV', () => pod.addRoute({ destination: '10.8.0.0/16', link: 99 })],
      ['a link that is down', 'ENETDOWN', () => pod.addRoute({ destination: '10.8.0.0/16', link: LOOPBACK_INDEX })],
      [
        'a source that is not ours',
        'EINVAL',
        () => pod.addRoute({ destination: '10.8.0.0/16', link: eth0.index, source: '10.1.1.1' }),
      ],
      ['deleting what is not there', 'ESRCH', () => pod.deleteRoute({ destination: '10.8.0.0/16' })],
      [
        'deleting by another gateway',
        'ESRCH',
        () => pod.deleteRoute({ destination: '10.244.0.0/24', gateway: '10.244.0.9' }),
      ],
      ['deleting an IPv6 one', 'ESRCH', () => pod.deleteRoute({ destination: 'fd08::/64' })],
    ])('routes: %s is %s', (_name, code, work) => {
      configure()
      expect(codeOf(work)).toBe(code)
    })

    test('the rate of a link is limited, and the limit changed', () => {
      const link = veth.index
      host.limitRate({ link, bitsPerSecond: 8_000_000 })
      expect(host.rateLimits()).toEqual([{ link, bitsPerSecond: 8_000_000 }])
      host.limitRate({ link, bitsPerSecond: 80_000_000_000 })
      expect(host.rateLimits()).toEqual([{ link, bitsPerSecond: 80_000_000_000 }])
      expect(codeOf(() => host.limitRate({ link: 99, bitsPerSecond: 8000 }))).toBe('ENODEV')
      host.deleteLink(link)
      expect(host.rateLimits()).toEqual([])
    })

    describe('vxlan', () => {
      const mac = '0e:00:00:00:00:02'
      let vxlan: Link
      beforeEach(() => {
        host.addAddress({ link: bridge.index, address: '192.0.2.1/24' })
        vxlan = host.addLink({
          kind: 'vxlan',
          name: 'vxlan.1',
          up: true,
          mtu: 1450,
          hardwareAddress: '0e:00:00:00:00:01',
          vxlan: { id: 1, port: 8472, local: '192.0.2.1' },
        })
      })

      test('is made as asked for', () => {
        const attributes = { id: 1, port: 8472, local: '192.0.2.1', learning: false }
        expect(vxlan).toMatchObject({ kind: 'vxlan', up: true, mtu: 1450, vxlan: attributes })
        const again = { kind: 'vxlan', name: 'vxlan.2', vxlan: { id: 1, port: 8472 } } as const
        expect(codeOf(() => host.addLink(again))).toBe('EEXIST')
        const other = { kind: 'vxlan', name: 'vxlan-v6.1', vxlan: { id: 1, port: 8472, local: 'fd00::1' } } as const
        expect(codeOf(() => host.addLink(other))).toBe('ok')
      })

      test('forwarding entries', () => {
        const link = vxlan.index
        host.replaceForwardingEntry({ link, hardwareAddress: mac, destination: '192.0.2.7' })
        host.replaceForwardingEntry({ link, hardwareAddress: mac, destination: '192.0.2.8' })
        expect(host.forwardingEntries()).toEqual([{ link, hardwareAddress: mac, destination: '192.0.2.8' }])
        host.deleteForwardingEntry({ link, hardwareAddress: mac, destination: '192.0.2.8' })
        expect(host.forwardingEntries()).toEqual([])
        const missing = { link, hardwareAddress: mac, destination: '192.0.2.8' }
        expect(codeOf(() => host.deleteForwardingEntry(missing))).toBe('ENOENT')
        expect(codeOf(() => host.replaceForwardingEntry({ ...missing, link: 99 }))).toBe('ENODEV')
      })

      test('neighbours', () => {
        const link = vxlan.index
        host.replaceNeighbour({ link, address: '10.244.2.0', hardwareAddress: '0e:00:00:00:00:03' })
        host.replaceNeighbour({ link, address: '10.244.2.0', hardwareAddress: mac })
        host.replaceNeighbour({ link, address: 'fd00::2', hardwareAddress: mac })
        expect(host.neighbours()).toEqual([
          { link, address: '10.244.2.0', hardwareAddress: mac },
          { link, address: 'fd00::2', hardwareAddress: mac },
        ])
        host.deleteNeighbour({ link, address: '10.244.2.0' })
        expect(host.neighbours()).toHaveLength(1)
        expect(codeOf(() => host.deleteNeighbour({ link, address: '10.244.2.0' }))).toBe('ENOENT')
        const onNoLink = { link: 99, address: '10.244.2.0', hardwareAddress: mac }
        expect(codeOf(() => host.replaceNeighbour(onNoLink))).toBe('ENODEV')
      })

      test('all of it goes with the link', () => {
        const link = vxlan.index
        host.replaceForwardingEntry({ link, hardwareAddress: mac, destination: '192.0.2.7' })
        host.replaceNeighbour({ link, address: '10.244.2.0', hardwareAddress: mac })
        host.addRoute({ destination: '10.244.2.0/24', gateway: '10.244.2.0', link, onlink: true })
        host.deleteLink(link)
        expect(host.forwardingEntries()).toEqual([])
        expect(host.neighbours()).toEqual([])
        expect(routesOf(host).map(({ destination }) => destination)).toEqual(['192.0.2.0/24'])
      })
    })

    test('changes are told', async () => {
      const events: NetworkEvent[] = []
      const watch = pod.watch((event) => events.push(event))
      configure()
      pod.addRoute({ destination: '0.0.0.0/0', gateway: '10.244.0.1' })
      pod.deleteRoute({ destination: '0.0.0.0/0' })
      host.deleteLink(veth.index)
      await expect
        .poll(() => events)
        .toContainEqual({ object: 'link', change: 'deleted', link: expect.objectContaining({ name: 'eth0' }) })
      const route = { destination: '0.0.0.0/0', gateway: '10.244.0.1', link: eth0.index }
      expect(events).toContainEqual({ object: 'route', change: 'set', route })
      expect(events).toContainEqual({ object: 'route', change: 'deleted', route })
      expect(events).toContainEqual({
        object: 'address',
        change: 'set',
        address: { link: eth0.index, address: '10.244.0.5/24' },
      })
      expect(events).toContainEqual({
        object: 'link',
        change: 'set',
        link: expect.objectContaining({ name: 'eth0', up: true }),
      })
      watch[Symbol.dispose]()
      const count = events.length
      pod.changeLink(LOOPBACK_INDEX, { up: true })
      await new Promise((resolve) => setImmediate(resolve))
      expect(events).toHaveLength(count)
    })
  })
}
