import { describe, expect, it } from 'vitest'
import type { Service } from '../../api/generated/core-v1.ts'
import { ServiceTable } from '../service-table.ts'
import { ReservedAddresses } from './reserved-addresses.ts'

describe('reserved addresses', () => {
  const reserved = new ReservedAddresses()
  reserved.setRanges({ 'cluster IPs': ['10.96.0.0/16', 'fd00:96::/112'], pods: ['10.244.0.0/16'] })
  reserved.setAddresses('a node', ['192.168.0.1', 'fd00::1'])
  reserved.setAddresses('the API server', ['172.30.0.1'])

  it.each([
    ['203.0.113.7', undefined],
    ['2001:db8::7', undefined],
    ['192.168.0.1', 'is an address of a node'],
    ['fd00::1', 'is an address of a node'],
    ['172.30.0.1', 'is an address of the API server'],
    ['10.96.0.10', 'is in the range of cluster IPs'],
    ['fd00:96::a', 'is in the range of cluster IPs'],
    ['10.244.3.4', 'is in the range of pods'],
    ['127.0.0.1', 'is a loopback address'],
    ['127.9.9.9', 'is a loopback address'],
    ['::1', 'is a loopback address'],
    ['169.254.169.254', 'is a link-local address'],
    ['fe80::1', 'is a link-local address'],
    ['0.0.0.0', 'is no address of a machine'],
    ['224.0.0.1', 'is a multicast address'],
    ['ff02::1', 'is a multicast address'],
  ])('%s: %s', (address, reason) => expect(reserved.reason(address)).toBe(reason))

  const web = (externalIPs: string[], loadBalancerIPs: string[] = []): Service => ({
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: { type: 'LoadBalancer', clusterIP: '10.96.0.5', ports: [{ port: 6443 }], externalIPs },
    status: { loadBalancer: { ingress: loadBalancerIPs.map((ip) => ({ ip })) } },
  })
  const KEY = 'default/web/TCP/IPv4'

  it('keeps them from Services that name them, and tells which', () => {
    const table = new ServiceTable({ name: 'here' }, reserved)
    table.serviceChanged(undefined, web(['192.168.0.1', '203.0.113.7'], ['172.30.0.1', '203.0.113.8']))
    table.update()
    expect(table.get(KEY)).toMatchObject({ externalIPs: ['203.0.113.7'], loadBalancerIPs: ['203.0.113.8'] })
    expect([...table.refusedAddresses()]).toEqual([
      { service: 'default/web', uid: 'u', address: '192.168.0.1', reason: 'is an address of a node' },
      { service: 'default/web', uid: 'u', address: '172.30.0.1', reason: 'is an address of the API server' },
    ])
    table.serviceChanged(web(['192.168.0.1']), undefined)
    table.update()
    expect([...table.refusedAddresses()]).toEqual([])
  })

  it('takes an address back that becomes one of a node, and gives it when the node is gone', () => {
    const table = new ServiceTable({ name: 'here' })
    table.serviceChanged(undefined, web(['203.0.113.7']))
    table.update()
    table.reserve('a node', ['203.0.113.7'])
    expect([...table.update()]).toEqual([KEY])
    expect(table.get(KEY)?.externalIPs).toEqual([])
    table.reserve('a node', ['203.0.113.7'])
    expect([...table.update()]).toEqual([])
    table.reserve('a node', [])
    expect([...table.update()]).toEqual([KEY])
    expect(table.get(KEY)?.externalIPs).toEqual(['203.0.113.7'])
  })
})
