import { expect, it } from 'vitest'
import { fakeLinux } from '../../linux/fake-linux.ts'
import type { Rtnetlink } from '../../linux/rtnetlink.ts'
import { assertNetworkFree } from './free-network.ts'

const RANGES = { clusterCidrs: ['10.244.0.0/16'], serviceCidrs: ['10.96.0.0/16'] }

const withAddress = (address: string) => (network: Rtnetlink) => {
  const { index } = network.addLink({ kind: 'bridge', name: 'lan', up: true })
  network.addAddress({ link: index, address })
}

it.each([
  ['another network', withAddress('192.168.1.10/24'), undefined],
  [
    'a wider one',
    withAddress('10.1.2.3/8'),
    '10.244.0.0/16, where pods of the cluster have their addresses, meets 10.',
  ],
  ['one inside', withAddress('10.96.7.1/24'), '10.96.0.0/16, where Services of the cluster have their addresses'],
  ['the pods of another cluster', (network) => void network.addLink({ kind: 'bridge', name: 'cni0' }), 'a bridge cni0'],
] as [string, (network: Rtnetlink) => void, string | undefined][])('a machine with %s', (_, prepare, problem) => {
  const linux = fakeLinux()
  using network = linux.openRtnetlink()
  prepare(network)
  const check = () => assertNetworkFree(linux, RANGES)
  if (problem === undefined) expect(check).not.toThrow()
  else expect(check).toThrow(problem)
})
