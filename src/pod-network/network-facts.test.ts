import { expect, test } from 'vitest'
import { fakeLinux } from '../linux/fake-linux.ts'
import { networkFacts } from './network-facts.ts'

function machine() {
  const linux = fakeLinux()
  const network = linux.openRtnetlink()
  const add = (name: string, mtu: number, ...addresses: string[]) => {
    const { index } = network.addLink({ kind: 'dummy', name, mtu, up: true })
    for (const address of addresses) network.addAddress({ link: index, address })
  }
  return { linux, network, add }
}

test('the uplink is that of the default route, with one address of each family', () => {
  const { linux, network, add } = machine()
  add('docker0', 1500, '172.17.0.1/16')
  add('eth0', 9000, '192.168.0.1/24', '192.168.0.2/24', 'fd09::1/64', 'fe80::1/64')
  network.addRoute({ destination: '0.0.0.0/0', gateway: '192.168.0.254' })
  expect(networkFacts(linux)).toMatchObject({
    uplink: { name: 'eth0', mtu: 9000 },
    addresses: ['192.168.0.1', 'fd09::1'],
  })
})

test('the addresses of the node decide', () => {
  const { linux, network, add } = machine()
  add('eth0', 1500, '192.168.0.1/24')
  add('eth1', 1400, '10.0.0.1/24', '10.0.0.2/24')
  network.addRoute({ destination: '0.0.0.0/0', gateway: '192.168.0.254' })
  const facts = networkFacts(linux, { nodeAddresses: ['10.0.0.2'] })
  expect(facts).toMatchObject({ uplink: { name: 'eth1' }, addresses: ['10.0.0.2'] })
})

test('without a default route any link that has an address, and none if none has', () => {
  const { linux, add } = machine()
  expect(networkFacts(linux)).toEqual({ addresses: [] })
  add('cni0', 1500, '10.244.0.1/24')
  add('eth7', 1500, '10.0.0.1/24')
  expect(networkFacts(linux, { except: ['cni0'] })).toMatchObject({ uplink: { name: 'eth7' }, addresses: ['10.0.0.1'] })
})
