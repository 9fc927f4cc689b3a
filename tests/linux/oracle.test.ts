/** Debian's own tools say the same about the kernel as we do. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { Linux } from '../../src/linux/linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { NftTransaction } from '../../src/linux/nft-transaction.ts'
import { encodeValue, encodeValues } from '../../src/linux/nft-values.ts'
import type { NftChain, NftSet } from '../../src/linux/nftables.ts'
import { asRoot } from './as-root.ts'

/** What `nft` prints of the layout of the service proxy. */
const RULESET = `table ip sampan {
	map services {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 443 comment "default/kubernetes" : goto lb-2 }
	}

	map endpoints {
		type ipv4_addr . inet_proto . inet_service . mark : ipv4_addr . inet_service
		elements = { 10.96.0.1 . tcp . 443 . 0x00000000 : 10.244.0.1 . 6443,
			     10.96.0.1 . tcp . 443 . 0x00000001 : 10.244.0.2 . 6443 }
	}

	set clients {
		type ipv4_addr
		size 65535
		flags dynamic,timeout
		timeout 3h
	}

	set sources {
		type ipv4_addr
		flags interval
		elements = { 10.0.0.0/8, 192.168.0.5 }
	}

	chain nat-prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		jump services comment "to services"
	}

	chain nat-postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		masquerade fully-random
	}

	chain forward {
		type filter hook forward priority filter - 10; policy drop;
		ct state established,related counter packets 0 bytes 0 accept
		ip saddr != @sources drop
		update @clients { ip saddr timeout 5s }
		reject
	}

	chain services {
		ip daddr . meta l4proto . th dport vmap @services
	}

	chain lb-2 {
		dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 2 map @endpoints
	}
}
`

/** nft prints a random number as the key of a map, but does not read it back. */
const READABLE = RULESET.replace('numgen random mod 2', 'meta mark')

function layout(): NftTransaction {
  const table = { family: 'ip', name: 'sampan' } as const
  const chain = (name: string): NftChain => ({ table, name })
  const key = ['ipv4_addr', 'inet_proto', 'inet_service'] as const
  const services: NftSet = { table, name: 'services', key, data: 'verdict' }
  const data = ['ipv4_addr', 'inet_service'] as const
  const endpoints: NftSet = { table, name: 'endpoints', key: [...key, 'mark'], data }
  const clients: NftSet = {
    table,
    name: 'clients',
    key: ['ipv4_addr'],
    dynamic: true,
    timeoutMs: 10_800_000,
    size: 65535,
  }
  const sources: NftSet = { table, name: 'sources', key: ['ipv4_addr'], interval: true }
  const flowKey = [
    { expr: 'payload', base: 'network', offset: 16, length: 4, to: 0 },
    { expr: 'meta', key: 'l4proto', to: 1 },
    { expr: 'payload', base: 'transport', offset: 2, length: 2, to: 2 },
  ] as const
  const source = { expr: 'payload', base: 'network', offset: 12, length: 4, to: 0 } as const
  return new NftTransaction()
    .addTable(table)
    .addSet(services)
    .addSet(endpoints)
    .addSet(clients)
    .addSet(sources)
    .addChain({ ...chain('nat-prerouting'), base: { type: 'nat', hook: 'prerouting', priority: -100 } })
    .addChain({ ...chain('nat-postrouting'), base: { type: 'nat', hook: 'postrouting', priority: 100 } })
    .addChain({ ...chain('forward'), base: { type: 'filter', hook: 'forward', priority: -10, policy: 'drop' } })
    .addChain(chain('services'))
    .addChain(chain('lb-2'))
    .addRule(chain('nat-prerouting'), {
      expressions: [{ expr: 'verdict', verdict: 'jump', chain: 'services' }],
      comment: 'to services',
    })
    .addRule(chain('nat-postrouting'), { expressions: [{ expr: 'masquerade', fullyRandom: true }] })
    .addRule(chain('forward'), {
      expressions: [
        { expr: 'ct', key: 'state', to: 0 },
        { expr: 'bitwise', from: 0, to: 0, mask: encodeValue('mark', 6), xor: encodeValue('mark', 0) },
        { expr: 'compare', from: 0, op: 'ne', value: encodeValue('mark', 0) },
        { expr: 'counter' },
        { expr: 'verdict', verdict: 'accept' },
      ],
    })
    .addRule(chain('forward'), {
      expressions: [
        source,
        { expr: 'lookup', set: 'sources', from: 0, inverted: true },
        { expr: 'verdict', verdict: 'drop' },
      ],
    })
    .addRule(chain('forward'), {
      expressions: [source, { expr: 'set-update', op: 'update', set: 'clients', key: 0, timeoutMs: 5000 }],
    })
    .addRule(chain('forward'), { expressions: [{ expr: 'reject', reason: 'port-unreachable' }] })
    .addRule(chain('services'), { expressions: [...flowKey, { expr: 'verdict-map', set: 'services', from: 0 }] })
    .addRule(chain('lb-2'), {
      expressions: [
        ...flowKey,
        { expr: 'number', mode: 'random', modulus: 2, to: 3 },
        { expr: 'map', set: 'endpoints', from: 0, to: 4 },
        { expr: 'nat', type: 'destination', family: 'ip', address: 4, port: 5 },
      ],
    })
    .addElements(
      endpoints,
      [0, 1].map((i) => ({
        key: encodeValues(endpoints.key, ['10.96.0.1', 6, 443, i]),
        data: encodeValues(data, [`10.244.0.${i + 1}`, 6443]),
      })),
    )
    .addElements(services, [
      {
        key: encodeValues(key, ['10.96.0.1', 6, 443]),
        verdict: { verdict: 'goto', chain: 'lb-2' },
        comment: 'default/kubernetes',
      },
    ])
    .addElements(sources, [
      { key: encodeValue('ipv4_addr', '10.0.0.0'), keyEnd: encodeValue('ipv4_addr', '10.255.255.255') },
      { key: encodeValue('ipv4_addr', '192.168.0.5') },
    ])
}

asRoot('oracles', () => {
  let linux: Linux
  let host: NetworkNamespace
  let pod: NetworkNamespace

  beforeEach(() => {
    linux = kernelLinux()
    host = linux.namespaces.create(`sampan-oracle-host-${process.pid}`)
    pod = linux.namespaces.create(`sampan-oracle-pod-${process.pid}`)
  })
  afterEach(() => {
    for (const namespace of [host, pod]) {
      namespace[Symbol.dispose]()
      linux.namespaces.delete(namespace.name)
    }
  })

  const run = (namespace: NetworkNamespace, command: string, ...args: string[]) =>
    execFileSync('nsenter', [`--net=/run/netns/${namespace.name}`, command, ...args], { encoding: 'utf8' })

  test('ip netns sees the namespaces', () => {
    expect(execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' })).toContain(host.name)
  })

  test('this thread is where it was', () => {
    const before = readlinkSync('/proc/thread-self/ns/net')
    const inside = linux.namespaces.inNamespace(pod, () => readlinkSync('/proc/thread-self/ns/net'))
    expect(inside).not.toBe(before)
    expect(readlinkSync('/proc/thread-self/ns/net')).toBe(before)
    expect(() =>
      linux.namespaces.inNamespace(pod, () => {
        throw new Error('inside')
      }),
    ).toThrow('inside')
    expect(readlinkSync('/proc/thread-self/ns/net')).toBe(before)
  })

  test('no thread stays in a namespace', async () => {
    const before = readlinkSync('/proc/thread-self/ns/net')
    for (let i = 0; i < 20; i++) {
      const file = linux.namespaces.inNamespace(pod, () => ({ read: readFile('/proc/self/status') }))
      await file.read
    }
    const threads = readdirSync('/proc/self/task').map((id) => readlinkSync(`/proc/self/task/${id}/ns/net`))
    expect(threads.length).toBeGreaterThan(4)
    expect(new Set(threads)).toEqual(new Set([before]))
  })

  test('a commit under way outlives its socket', async () => {
    const nftables = linux.openNftables(host)
    const table = { family: 'ip', name: 'sampan' } as const
    const set: NftSet = { table, name: 'many', key: ['ipv4_addr'] }
    const elements = Array.from({ length: 20_000 }, (_, i) => ({
      key: encodeValue('ipv4_addr', `10.0.${i >> 8}.${i & 255}`),
    }))
    const commit = nftables.commit(new NftTransaction().addTable(table).addSet(set).addElements(set, elements))
    nftables[Symbol.dispose]()
    await commit
    const again = linux.openNftables(host)
    expect(again.elements(set)).toHaveLength(elements.length)
    again[Symbol.dispose]()
  })

  test('ip shows the pod network', () => {
    const network = linux.openRtnetlink(host)
    const inside = linux.openRtnetlink(pod)
    const bridge = network.addLink({ kind: 'bridge', name: 'cni0', up: true })
    network.addAddress({ link: bridge.index, address: '10.244.0.1/24' })
    const peer = { name: 'eth0', hardwareAddress: '02:00:00:00:00:05', namespace: pod }
    const veth = network.addLink({ kind: 'veth', name: 'veth5', up: true, master: bridge.index, peer })
    network.changeLink(veth.index, { hairpin: true })
    const eth0 = inside.link('eth0')!
    inside.changeLink(eth0.index, { up: true })
    inside.addAddress({ link: eth0.index, address: '10.244.0.5/24' })
    inside.addAddress({ link: eth0.index, address: 'fd00:10:244::5/64' })
    inside.addRoute({ destination: '0.0.0.0/0', gateway: '10.244.0.1' })
    const vxlan = { id: 1, port: 8472, local: '10.244.0.1' }
    const overlay = network.addLink({ kind: 'vxlan', name: 'vxlan.1', up: true, vxlan })
    const mac = '0e:00:00:00:00:02'
    network.replaceForwardingEntry({ link: overlay.index, hardwareAddress: mac, destination: '192.0.2.7' })
    network.replaceNeighbour({ link: overlay.index, address: '10.244.2.0', hardwareAddress: mac })
    network.addRoute({ destination: '10.244.2.0/24', gateway: '10.244.2.0', link: overlay.index, onlink: true })

    expect(run(pod, 'ip', '-4', 'route')).toContain('default via 10.244.0.1 dev eth0 proto static')
    expect(run(pod, 'ip', '-4', 'addr', 'show', 'eth0')).toContain('inet 10.244.0.5/24 brd 10.244.0.255')
    expect(run(pod, 'ip', '-6', 'addr', 'show', 'eth0')).toMatch(/fd00:10:244::5\/64 scope global (?!tentative)/)
    expect(run(host, 'ip', '-d', 'link', 'show', 'veth5')).toMatch(/master cni0[\s\S]*hairpin on/)
    expect(run(host, 'ip', '-d', 'link', 'show', 'vxlan.1')).toMatch(
      /vxlan id 1 local 10.244.0.1 .*dstport 8472 nolearning/,
    )
    expect(run(host, 'bridge', 'fdb', 'show', 'dev', 'vxlan.1')).toContain(`${mac} dst 192.0.2.7 self permanent`)
    expect(run(host, 'ip', 'neigh', 'show', 'dev', 'vxlan.1')).toContain(`10.244.2.0 lladdr ${mac} PERMANENT`)
    expect(run(host, 'ip', 'route')).toContain('10.244.2.0/24 via 10.244.2.0 dev vxlan.1 proto static onlink')
    for (const opened of [network, inside]) opened[Symbol.dispose]()
  })

  test('nft prints our rules as its own', async () => {
    const nftables = linux.openNftables(host)
    await nftables.commit(layout())
    nftables[Symbol.dispose]()
    execFileSync('nsenter', [`--net=/run/netns/${pod.name}`, 'nft', '-f', '-'], { input: READABLE })
    expect(run(host, 'nft', 'list', 'ruleset')).toBe(RULESET)
    expect(run(pod, 'nft', 'list', 'ruleset')).toBe(READABLE)
  })

  test('we read what nft wrote', () => {
    execFileSync('nsenter', [`--net=/run/netns/${pod.name}`, 'nft', '-f', '-'], { input: READABLE })
    const nftables = linux.openNftables(pod)
    const table = { family: 'ip', name: 'sampan' } as const
    const { rules, sets, chains } = nftables.list(table)!
    expect(chains).toHaveLength(5)
    expect(sets.map(({ name, key, data }) => [name, key.length, data])).toEqual([
      ['services', 3, 'verdict'],
      ['endpoints', 4, ['ipv4_addr', 'inet_service']],
      ['clients', 1, undefined],
      ['sources', 1, undefined],
    ])
    const lb = rules.find(({ chain }) => chain === 'lb-2')!
    expect(lb.expressions.at(-1)).toMatchObject({ expr: 'nat', type: 'destination', family: 'ip' })
    expect(rules.flatMap(({ expressions }) => expressions).filter(({ expr }) => expr === 'unknown')).toEqual([])
    nftables[Symbol.dispose]()
  })

  test('conntrack shows the flows', () => {
    const conntrack = linux.openConntrack(host)
    const client = '10.1.0.1'
    conntrack.insert({
      original: { source: client, destination: '10.96.0.10', protocol: 17, sourcePort: 4000, destinationPort: 53 },
      reply: { source: '10.244.0.5', destination: client, protocol: 17, sourcePort: 53, destinationPort: 4000 },
      timeoutSeconds: 600,
    })
    const line = run(host, 'conntrack', '-L', '-p', 'udp')
    expect(line).toMatch(/src=10\.1\.0\.1 dst=10\.96\.0\.10 sport=4000 dport=53 src=10\.244\.0\.5 dst=10\.1\.0\.1/)
    conntrack.delete(conntrack.list('ip')[0]!)
    expect(run(host, 'conntrack', '-L', '-p', 'udp').trim()).toBe('')
    conntrack[Symbol.dispose]()
  })
})
