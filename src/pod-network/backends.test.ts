import { beforeEach, describe, expect, test } from 'vitest'
import { silentLogger } from '../base/log.ts'
import { type FakeLinux, fakeLinux } from '../linux/fake-linux.ts'
import type { Rtnetlink } from '../linux/rtnetlink.ts'
import { NETWORK_BACKENDS, type NetworkBackendName } from './backends.ts'
import { ANNOTATIONS } from './peers/annotations.ts'
import type { BackendNode, NetworkBackend, Peer } from './pod-network.ts'

let linux: FakeLinux
let network: Rtnetlink
let uplink: BackendNode['uplink']

const open = (name: NetworkBackendName) =>
  NETWORK_BACKENDS[name]({ linux, clusterCIDRs: ['10.244.0.0/16', 'fd00::/48'], log: silentLogger })

function self(more: Partial<BackendNode> = {}): BackendNode {
  return {
    name: 'self',
    uid: 'uid-self',
    podCIDRs: ['10.244.0.0/24', 'fd00::/64'],
    publicAddresses: ['192.168.0.10', 'fd09::10'],
    annotations: {},
    uplink,
    ...more,
  }
}

const mac = (number: number) => `02:aa:00:00:00:0${number}`

function peer(number: number, more: Partial<Peer> = {}): Peer {
  return {
    name: `node${number}`,
    podCIDRs: [`10.244.${number}.0/24`, `fd00:0:0:${number}::/64`],
    publicAddresses: [`192.168.0.${number}`, `fd09::${number}`],
    annotations: {
      [ANNOTATIONS.backendType]: 'vxlan',
      [ANNOTATIONS.backendData]: JSON.stringify({ VNI: 1, VtepMAC: mac(number) }),
      [ANNOTATIONS.backendV6Data]: JSON.stringify({ VNI: 1, VtepMAC: mac(number + 4) }),
    },
    ...more,
  }
}

const routes = () =>
  network
    .routes()
    .filter(({ gateway }) => gateway)
    .map(
      ({ destination, gateway, link }) =>
        `${destination} ${gateway} ${network.links().find(({ index }) => index === link)?.name}`,
    )
    .sort()
const neighbours = () =>
  network
    .neighbours()
    .map(({ address, hardwareAddress }) => `${address} ${hardwareAddress}`)
    .sort()
const forwarding = () =>
  network
    .forwardingEntries()
    .map(({ hardwareAddress, destination }) => `${hardwareAddress} ${destination}`)
    .sort()

beforeEach(() => {
  linux = fakeLinux()
  network = linux.openRtnetlink()
  const { index } = network.addLink({ kind: 'dummy', name: 'eth0', up: true })
  network.addAddress({ link: index, address: '192.168.0.10/24' })
  network.addAddress({ link: index, address: 'fd09::10/64' })
  uplink = { index, name: 'eth0', mtu: 1500 }
})

const ROUTES = {
  'host-gw': (number: number) => [
    `10.244.${number}.0/24 192.168.0.${number} eth0`,
    `fd00:0:0:${number}::/64 fd09::${number} eth0`,
  ],
  vxlan: (number: number) => [
    `10.244.${number}.0/24 10.244.${number}.0 sampan.1`,
    `fd00:0:0:${number}::/64 fd00:0:0:${number}:: sampan-v6.1`,
  ],
}

describe.each(['host-gw', 'vxlan'] as const)('%s', (name) => {
  let backend: NetworkBackend
  const expected = (...numbers: number[]) => numbers.flatMap((number) => ROUTES[name](number)).sort()

  beforeEach(() => {
    backend = open(name)
    backend.start(self())
  })

  test('peers come, change and go one by one', () => {
    backend.setPeers([peer(1)])
    expect(routes()).toEqual(expected(1))
    backend.setPeer('node2', peer(2))
    expect(routes()).toEqual(expected(1, 2))
    backend.setPeer('node1', { ...peer(3), name: 'node1' })
    expect(routes()).toEqual(expected(2, 3))
    backend.setPeer('node2', undefined)
    backend.setPeer('never-was', undefined)
    expect(routes()).toEqual(expected(3))
  })

  test('what did not change is not written', () => {
    backend.setPeers([peer(1)])
    const events: unknown[] = []
    network.watch((event) => events.push(event))
    backend.setPeer('node1', peer(1))
    backend.setPeers([peer(1)])
    return Promise.resolve().then(() => expect(events).toEqual([]))
  })

  test('a CIDR that moves to another node stays there when the old one goes', () => {
    backend.setPeers([peer(1)])
    backend.setPeer('node2', { ...peer(2), podCIDRs: peer(1).podCIDRs })
    backend.setPeer('node1', undefined)
    expect(routes().map((route) => route.split(' ')[0])).toEqual(peer(1).podCIDRs)
    if (name === 'host-gw') expect(routes()[0]).toContain('192.168.0.2')
    else expect(forwarding()).toContain(`${mac(2)} 192.168.0.2`)
  })

  test('another process adopts what is there and removes what is of nobody', () => {
    backend.setPeers([peer(1), peer(2)])
    backend[Symbol.dispose]()
    const next = open(name)
    next.start(self())
    const before = network.routes()
    next.setPeers([peer(2)])
    expect(routes()).toEqual(expected(2))
    expect(before).toEqual(expect.arrayContaining(network.routes()))
  })

  test('puts back what someone else removed', () => {
    backend.setPeers([peer(1), peer(2)])
    network.deleteRoute({ destination: '10.244.1.0/24' })
    backend.setPeers([peer(1), peer(2)])
    expect(routes()).toEqual(expected(1, 2))
  })

  test('one peer that cannot be reached does not keep others from it, and is tried again', () => {
    const lost = peer(1, { publicAddresses: ['172.16.0.1', 'fd66::1'], podCIDRs: ['10.244.1.0/24'] })
    if (name === 'vxlan') return
    expect(() => backend.setPeers([lost, peer(2)])).toThrow('ENETUNREACH')
    expect(routes()).toEqual(expected(2))
    expect(() => backend.setPeer('node1', lost)).toThrow('ENETUNREACH')
    backend.setPeer('node1', peer(1))
    expect(routes()).toEqual(expected(1, 2))
  })

  test('leaves routes of others alone, and stops without a trace', () => {
    network.addRoute({ destination: '172.30.0.0/16', gateway: '192.168.0.1' })
    const links = network.links().length
    backend.setPeers([peer(1)])
    backend.stop()
    expect(routes()).toEqual(['172.30.0.0/16 192.168.0.1 eth0'])
    expect(network.links()).toHaveLength(name === 'vxlan' ? links - 2 : links)
    expect(neighbours()).toEqual([])
  })
})

describe('vxlan', () => {
  test('has a device for each family of the nodes, and tells its hardware addresses', () => {
    const annotations = open('vxlan').start(self())
    const device = network.link('sampan.1')!
    expect(device).toMatchObject({
      up: true,
      mtu: 1450,
      vxlan: { id: 1, port: 8472, local: '192.168.0.10', device: uplink.index, learning: false },
    })
    expect(network.link('sampan-v6.1')).toMatchObject({ mtu: 1430, vxlan: { local: 'fd09::10' } })
    expect(annotations).toEqual({
      'flannel.alpha.coreos.com/backend-type': 'vxlan',
      'flannel.alpha.coreos.com/backend-data': `{"VNI":1,"VtepMAC":"${device.hardwareAddress}"}`,
      'flannel.alpha.coreos.com/backend-v6-data': `{"VNI":1,"VtepMAC":"${network.link('sampan-v6.1')!.hardwareAddress}"}`,
      'flannel.alpha.coreos.com/kube-subnet-manager': 'true',
      'flannel.alpha.coreos.com/public-ip': '192.168.0.10',
      'flannel.alpha.coreos.com/public-ipv6': 'fd09::10',
    })
  })

  test('knows the ends of the tunnels and the nodes behind them', () => {
    const backend = open('vxlan')
    backend.start(self())
    backend.setPeers([peer(1)])
    expect(neighbours()).toEqual([`10.244.1.0 ${mac(1)}`, `fd00:0:0:1:: ${mac(5)}`])
    expect(forwarding()).toEqual([`${mac(1)} 192.168.0.1`, `${mac(5)} fd09::1`])
  })

  test('carries IPv6 over IPv4 where nodes have no IPv6', () => {
    const backend = open('vxlan')
    const node = self({ publicAddresses: ['192.168.0.10'] })
    backend.start(node)
    expect(backend.overhead(node)).toBe(50)
    backend.setPeers([peer(1)])
    expect(routes()).toEqual(['10.244.1.0/24 10.244.1.0 sampan.1', 'fd00:0:0:1::/64 fd00:0:0:1:: sampan.1'])
    expect(network.link('sampan-v6.1')).toBeUndefined()
  })

  test.each<[string, Partial<Peer>]>([
    ['has told nothing yet', { annotations: {} }],
    ['has another backend', { annotations: { ...peer(1).annotations, [ANNOTATIONS.backendType]: 'host-gw' } }],
    [
      'tells nonsense',
      { annotations: { [ANNOTATIONS.backendType]: 'vxlan', [ANNOTATIONS.backendData]: '{"VNI":1,"VtepMAC":7}' } },
    ],
    [
      'has another network',
      {
        annotations: {
          [ANNOTATIONS.backendType]: 'vxlan',
          [ANNOTATIONS.backendData]: `{"VNI":2,"VtepMAC":"${mac(1)}"}`,
        },
      },
    ],
    ['has no CIDR', { podCIDRs: [] }],
    ['has no address', { publicAddresses: [] }],
  ])('a peer that %s is not reached', (_what, more) => {
    const backend = open('vxlan')
    backend.start(self())
    backend.setPeers([peer(1, more)])
    expect([...routes(), ...neighbours(), ...forwarding()]).toEqual([])
  })

  test('the hardware address follows the node, not the moment', () => {
    const first = open('vxlan').start(self())
    linux = fakeLinux()
    network = linux.openRtnetlink()
    const { index } = network.addLink({ kind: 'dummy', name: 'eth0', up: true })
    expect(open('vxlan').start(self({ uplink: { ...uplink, index } }))).toEqual(first)
    expect(open('vxlan').start(self({ uplink: { ...uplink, index }, uid: 'other' }))).toEqual(first)
  })

  test('a device that does not fit is made anew', () => {
    network.addLink({ kind: 'vxlan', name: 'sampan.1', vxlan: { id: 9, port: 4789 } })
    open('vxlan').start(self())
    expect(network.link('sampan.1')?.vxlan?.id).toBe(1)
  })
})
