import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { silentLogger } from '../../base/log.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type FakeLinux, fakeLinux } from '../../linux/fake-linux.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import { decodeValues } from '../../linux/nft-values.ts'
import type { Rtnetlink } from '../../linux/rtnetlink.ts'
import type { HostPort, PodSandbox } from '../pod-network.ts'
import { IPV4, IPV6 } from '../rules/match.ts'
import { SandboxRecords } from '../sandboxes/sandbox-records.ts'
import { vethName } from './addresses.ts'
import { BridgePodNetwork } from './bridge-pod-network.ts'
import { hairpins, hostAddressPorts, hostPorts, TABLE } from './rules.ts'

let linux: FakeLinux
let node: Rtnetlink
let directory: string
let network: BridgePodNetwork

const CONFIGURATION = { podCIDRs: ['10.244.1.0/24', 'fd00:1::/64'], mtu: 1450, uplink: 'eth0' }
const options = () => ({
  linux,
  records: new SandboxRecords(directory),
  log: silentLogger,
  clock: new VirtualClock(),
  bridge: 'cni0',
  clusterCIDRs: ['10.244.0.0/16', 'fd00::/56'],
})
const pod = (sandboxId: string, more: Partial<PodSandbox> = {}): PodSandbox => ({
  namespace: 'default',
  name: sandboxId,
  uid: sandboxId,
  sandboxId,
  ...more,
})
const web: HostPort = { protocol: 'TCP', hostPort: 8080, containerPort: 80 }

/** Another process on the same machine. */
async function restart(configuration: Partial<typeof CONFIGURATION> = {}): Promise<void> {
  await network[Symbol.asyncDispose]()
  network = new BridgePodNetwork(options())
  await network.configure({ ...CONFIGURATION, ...configuration })
}

beforeEach(async () => {
  linux = fakeLinux()
  node = linux.openRtnetlink()
  directory = mkdtempSync(path.join(tmpdir(), 'bridge-'))
  network = new BridgePodNetwork(options())
  await network.configure(CONFIGURATION)
})

afterEach(async () => {
  await network[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

describe('the node', () => {
  test('has a bridge with the gateways, forwards, and has the table', () => {
    const bridge = node.link('cni0')!
    expect(bridge).toMatchObject({ kind: 'bridge', up: true, mtu: 1450, hardwareAddress: '0a:58:0a:f4:01:01' })
    expect(node.addresses().map(({ address }) => address)).toEqual(['10.244.1.1/24', 'fd00:1::1/64'])
    const sysctl = linux.openSysctl()
    expect(sysctl.read('net/ipv4/ip_forward')).toBe('1')
    expect(sysctl.read('net/ipv6/conf/all/forwarding')).toBe('1')
    expect(linux.openNftables().tables()).toEqual([TABLE])
  })

  test('another CIDR and size take the place of the old', async () => {
    await network.attach(pod('a'))
    await restart({ podCIDRs: ['10.244.7.0/24'], mtu: 1400 })
    expect(node.addresses().map(({ address }) => address)).toEqual(['10.244.7.1/24'])
    expect(node.link('cni0')?.mtu).toBe(1400)
    expect((await network.attach(pod('b'))).addresses).toEqual(['10.244.7.2'])
  })

  test('a link of that name that is no bridge is not touched', async () => {
    node.addLink({ kind: 'dummy', name: 'other' })
    const other = new BridgePodNetwork({ ...options(), bridge: 'other' })
    await expect(other.configure(CONFIGURATION)).rejects.toThrow('other is there already and is no bridge')
    await other[Symbol.asyncDispose]()
  })

  test('is not ready before it has a CIDR', async () => {
    const early = new BridgePodNetwork(options())
    expect(early.notReadyReason).toContain('no pod CIDR')
    await expect(early.attach(pod('a'))).rejects.toThrow('not ready')
    expect(await early.list()).toEqual([])
    await early[Symbol.asyncDispose]()
  })
})

describe('attach', () => {
  test('makes the namespace with addresses and default routes', async () => {
    expect(await network.attach(pod('a'))).toEqual({
      netnsPath: '/run/netns/sampan-a',
      addresses: ['10.244.1.2', 'fd00:1::2'],
    })
    const inside = linux.openRtnetlink(linux.namespaces.open('sampan-a'))
    expect(inside.links()).toMatchObject([
      { name: 'lo', up: true },
      { name: 'eth0', up: true, mtu: 1450, hardwareAddress: '0a:58:0a:f4:01:02' },
    ])
    expect(inside.addresses().map(({ address }) => address)).toEqual(['10.244.1.2/32', 'fd00:1::2/128'])
    expect(inside.routes()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ destination: '0.0.0.0/0', gateway: '10.244.1.1' }),
        expect.objectContaining({ destination: '::/0', gateway: 'fd00:1::1' }),
      ]),
    )
    expect(node.link(vethName('a'))).toMatchObject({ up: true, hairpin: true, master: node.link('cni0')!.index })
    await network.check('a')
  })

  test('again, and after a restart, changes nothing', async () => {
    const first = await network.attach(pod('a', { hostPorts: [web] }))
    const links = node.links()
    expect(await network.attach(pod('a', { hostPorts: [web] }))).toEqual(first)
    await restart()
    expect(await network.list()).toEqual(['a'])
    expect(await network.attach(pod('a'))).toEqual(first)
    expect(node.links()).toEqual(links)
    expect((await network.attach(pod('b'))).addresses).not.toEqual(first.addresses)
  })

  test('limits what goes in and out', async () => {
    await network.attach(pod('a', { bandwidth: { ingress: 8000, egress: 16_000 } }))
    const inside = linux.openRtnetlink(linux.namespaces.open('sampan-a'))
    expect(node.rateLimits()).toEqual([{ link: node.link(vethName('a'))!.index, bitsPerSecond: 8000 }])
    expect(inside.rateLimits()).toEqual([{ link: inside.link('eth0')!.index, bitsPerSecond: 16_000 }])
  })

  test('many at once have different addresses', async () => {
    const attached = await Promise.all(Array.from({ length: 100 }, (_, i) => network.attach(pod(`p${i}`))))
    expect(new Set(attached.map(({ addresses }) => addresses[0])).size).toBe(100)
  })

  test('makes again what the machine lost, with the same addresses', async () => {
    const first = await network.attach(pod('a'))
    linux.namespaces.delete('sampan-a')
    await expect(network.check('a')).rejects.toThrow('namespace is gone')
    expect(await network.attach(pod('a'))).toEqual(first)
    await network.check('a')
  })

  test('leaves nothing behind when it fails', async () => {
    await network.attach(pod('a', { hostPorts: [web] }))
    await expect(network.attach(pod('b', { hostPorts: [web] }))).rejects.toThrow(
      'host port 8080/TCP is in use by sandbox a',
    )
    await expect(network.attach(pod('c', { mtu: -1, hostPorts: [{ ...web, hostPort: 70_000 }] }))).rejects.toThrow()
    expect(await network.list()).toEqual(['a'])
    expect(linux.namespaces.list()).toEqual(['sampan-a'])
    await expect(network.attach(pod('../x'))).rejects.toThrow('no ID of a sandbox')
  })

  test('tells when no address is left', async () => {
    await restart({ podCIDRs: ['10.244.1.0/29'] })
    for (let i = 0; i < 5; i++) await network.attach(pod(`p${i}`))
    await expect(network.attach(pod('one-more'))).rejects.toThrow('no address is free')
    await network.detach('p3')
    expect((await network.attach(pod('one-more'))).addresses).toEqual(['10.244.1.5'])
  })
})

describe('detach', () => {
  test('removes all of it, twice is once', async () => {
    await network.attach(pod('a', { hostPorts: [web] }))
    await network.detach('a')
    await network.detach('a')
    await network.detach('never-was')
    expect(linux.namespaces.list()).toEqual([])
    expect(await network.list()).toEqual([])
    expect(node.neighbours()).toEqual([])
    expect(linux.openNftables().elements(hostPorts(IPV4))).toEqual([])
    await expect(network.check('a')).rejects.toThrow('has no network')
  })

  test('is right when the namespace or the rules are gone', async () => {
    await network.attach(pod('a', { hostPorts: [web] }))
    await network.attach(pod('b', { hostPorts: [{ ...web, hostPort: 9090 }] }))
    linux.namespaces.delete('sampan-a')
    await linux.openNftables().commit(new NftTransaction().deleteTable(TABLE))
    await network.detach('a')
    expect(linux.openNftables().elements(hostPorts(IPV4))).toHaveLength(1)
    await network.detach('b')
    expect(linux.openNftables().elements(hostPorts(IPV4))).toEqual([])
  })

  test('an address goes to another pod only when the old link is gone', async () => {
    await restart({ podCIDRs: ['10.244.1.0/30'] })
    await network.attach(pod('a'))
    const lingering = vethName('a')
    await network.detach('a')
    // The fake, as the kernel for a while, still has the node's end.
    expect(node.link(lingering)).toBeDefined()
    await network.attach(pod('b'))
    expect(node.link(lingering)).toBeUndefined()
  })
})

describe('host ports', () => {
  const elements = (set: ReturnType<typeof hostPorts>) =>
    linux
      .openNftables()
      .elements(set)
      .map(({ key, data }) => [
        ...decodeValues(set.key, Buffer.from(key)),
        ...(data ? decodeValues(set.data as never, Buffer.from(data)) : []),
      ])

  test('lead to the pod, by family and address', async () => {
    await network.attach(
      pod('a', { hostPorts: [web, { protocol: 'UDP', hostPort: 53, containerPort: 5353, hostIP: '192.168.0.1' }] }),
    )
    expect(elements(hostPorts(IPV4))).toEqual([[6, 8080, '10.244.1.2', 80]])
    expect(elements(hostPorts(IPV6))).toEqual([[6, 8080, 'fd00:1::2', 80]])
    expect(elements(hostAddressPorts(IPV4))).toEqual([['192.168.0.1', 17, 53, '10.244.1.2', 5353]])
    expect(elements(hostAddressPorts(IPV6))).toEqual([])
    expect(elements(hairpins(IPV4))).toEqual([['10.244.1.2', '10.244.1.2']])
  })

  test('of UDP forget the flows of before', async () => {
    const conntrack = linux.openConntrack()
    const flow = (destinationPort: number) => ({
      original: { source: '192.168.0.9', destination: '192.168.0.1', protocol: 17, sourcePort: 999, destinationPort },
      reply: {
        source: '192.168.0.1',
        destination: '192.168.0.9',
        protocol: 17,
        sourcePort: destinationPort,
        destinationPort: 999,
      },
      timeoutSeconds: 30,
    })
    conntrack.insert(flow(53))
    conntrack.insert(flow(54))
    await network.attach(pod('a', { hostPorts: [{ protocol: 'UDP', hostPort: 53, containerPort: 53 }] }))
    expect(conntrack.list('ip').map(({ original }) => original.destinationPort)).toEqual([54])
  })

  test('are there after the rules were flushed', async () => {
    await network.attach(pod('a', { hostPorts: [web] }))
    await linux.openNftables().commit(new NftTransaction().deleteTable(TABLE))
    await network.repair()
    expect(elements(hostPorts(IPV4))).toHaveLength(1)
  })
})

describe('after a restart', () => {
  test('a damaged record is made from what the kernel has', async () => {
    const { addresses } = await network.attach(pod('a'))
    writeFileSync(path.join(directory, 'a.json'), '{"pod":')
    writeFileSync(path.join(directory, 'gone.json'), '')
    await restart()
    expect(await network.list()).toEqual(['a'])
    expect((await network.attach(pod('a'))).addresses).toEqual(addresses)
    expect((await network.attach(pod('b'))).addresses).not.toEqual(addresses)
  })

  test('links of sandboxes that nobody knows are removed', async () => {
    node.addLink({ kind: 'veth', name: 'vethleak', master: node.link('cni0')!.index, peer: { name: 'peer' } })
    await restart()
    expect(node.link('vethleak')).toBeUndefined()
  })

  test('pods are on the bridge, even if it had to be made again', async () => {
    await network.attach(pod('a'))
    node.deleteLink(node.link('cni0')!.index)
    await network.repair()
    await network.check('a')
  })

  test('cleaning up leaves nothing', async () => {
    await network.attach(pod('a', { hostPorts: [web] }))
    await network.cleanup()
    expect(linux.namespaces.list()).toEqual([])
    expect(node.link('cni0')).toBeUndefined()
    expect(linux.openNftables().tables()).toEqual([])
  })
})
