import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ServiceSpec } from '../../../api/generated/core-v1.ts'
import type { IPAddress } from '../../../api/generated/networking-v1.ts'
import { cidrContains, parseCIDR, parseIP } from '../../../base/ip-address.ts'
import { type EmbeddedStore, openMemoryStore } from '../../../store/embedded.ts'
import { heldIPs, heldPorts, putServiceCIDR, ServiceWriter } from './service-fixture.ts'

let store: EmbeddedStore
let writer: ServiceWriter

beforeEach(async () => {
  store = openMemoryStore()
  writer = new ServiceWriter(store)
})

afterEach(async () => {
  writer[Symbol.dispose]()
  await store[Symbol.asyncDispose]()
})

const web: ServiceSpec = { ports: [{ port: 80 }] }
const singleStack = () => putServiceCIDR(store, 'kubernetes', ['10.96.0.0/16'])
const dualStack = () => putServiceCIDR(store, 'kubernetes', ['10.96.0.0/16', 'fd00:10:96::/112'])
const within = (cidr: string, ip: string) => cidrContains(parseCIDR(cidr)!, parseIP(ip)!)

describe('cluster IPs', () => {
  it('writes an IPAddress with the Service', async () => {
    await singleStack()
    const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy } = await writer.create('web', web)
    expect(clusterIPs).toEqual([clusterIP])
    expect({ ipFamilies, ipFamilyPolicy }).toEqual({ ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' })
    const entry = await store.get(`/registry/ipaddresses.networking.k8s.io/${clusterIP}`)
    const object = JSON.parse(entry!.value.toString()) as IPAddress
    expect(object).toMatchObject({
      kind: 'IPAddress',
      metadata: {
        name: clusterIP,
        resourceVersion: String(entry!.revision),
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        creationTimestamp: '2026-01-01T00:00:00Z',
        labels: {
          'ipaddress.kubernetes.io/ip-family': 'IPv4',
          'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
        },
      },
      spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
    })
    expect((await writer.read('web')).revision).toBe(entry!.revision)
  })

  it('draws from above the reserved part first', async () => {
    await singleStack()
    for (let i = 0; i < 50; i++) {
      const { clusterIP } = await writer.create(`s${i}`, web)
      expect(parseIP(clusterIP!)!.value).toBeGreaterThan(parseIP('10.96.1.0')!.value)
    }
  })

  it.each([
    ['10.0.0.0/28', 14],
    ['10.0.0.0/27', 30],
    ['10.0.0.0/30', 2],
    ['10.0.0.0/31', 0],
    ['10.0.0.0/32', 0],
    ['fd00::/123', 31],
  ])('uses every address of %s: %i', async (cidr, count) => {
    await putServiceCIDR(store, 'kubernetes', [cidr])
    const ips: string[] = []
    for (let i = 0; i < count; i++) ips.push((await writer.create(`s${i}`, web)).clusterIP!)
    expect(new Set(ips).size).toBe(count)
    expect(ips.every((ip) => within(cidr, ip))).toBe(true)
    await expect(writer.create('one-more', web)).rejects.toThrow(
      'Internal error occurred: failed to allocate a serviceIP for Service "one-more": range is full',
    )
    expect(await heldIPs(store)).toEqual(ips.sort())
  })

  it('takes the reserved part only when the rest is gone', async () => {
    await putServiceCIDR(store, 'kubernetes', ['10.0.0.0/27'])
    const last: number[] = []
    for (let i = 0; i < 30; i++) {
      last.push(Number((await writer.create(`s${i}`, web)).clusterIP!.split('.')[3]))
    }
    expect(Math.min(...last.slice(0, 14))).toBe(17)
    expect(Math.max(...last.slice(14))).toBe(16)
  })

  it('gives an address out again after its Service is gone', async () => {
    await putServiceCIDR(store, 'kubernetes', ['10.0.0.0/30'])
    const first = await writer.create('a', web)
    await writer.create('b', web)
    await writer.delete('a')
    expect((await writer.create('c', web)).clusterIP).toBe(first.clusterIP)
  })

  it.each<[string, ServiceSpec, string]>([
    [
      'an address in use',
      { ...web, clusterIP: '10.96.0.10' },
      'spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
    ],
    [
      'an address of no range',
      { ...web, clusterIP: '10.97.0.1' },
      'failed to allocate IP 10.97.0.1: the provided network does not match the current range',
    ],
    [
      'the network address',
      { ...web, clusterIP: '10.96.0.0' },
      'failed to allocate IP 10.96.0.0: the provided network does not match the current range',
    ],
    [
      'the broadcast address',
      { ...web, clusterIP: '10.96.255.255' },
      'failed to allocate IP 10.96.255.255: the provided network does not match the current range',
    ],
    [
      'a family the cluster has not',
      { ...web, clusterIP: 'fd00::1' },
      'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    ],
    [
      'both families',
      { ...web, ipFamilyPolicy: 'RequireDualStack' },
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ],
    [
      'the other family',
      { ...web, ipFamilies: ['IPv6'] },
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ],
    [
      'no address at all',
      { ...web, clusterIP: 'bogus' },
      'spec.clusterIPs[0]: Invalid value: "bogus": must be a valid IP',
    ],
  ])('refuses %s', async (_, spec, message) => {
    await singleStack()
    await writer.create('dns', { ...web, clusterIP: '10.96.0.10' })
    await expect(writer.create('web', spec)).rejects.toThrow(message)
    expect(await heldIPs(store)).toEqual(['10.96.0.10'])
  })

  it('honours a chosen address also from the reserved part', async () => {
    await singleStack()
    expect((await writer.create('dns', { ...web, clusterIP: '10.96.0.10' })).clusterIPs).toEqual(['10.96.0.10'])
  })

  it.each<[string, ServiceSpec]>([
    ['headless', { ...web, clusterIP: 'None' }],
    ['ExternalName', { type: 'ExternalName', externalName: 'example.com' }],
  ])('gives none to %s', async (_, spec) => {
    await singleStack()
    const { clusterIP } = await writer.create('web', spec)
    expect(clusterIP).toBe(spec.clusterIP)
    expect(await heldIPs(store)).toEqual([])
    await writer.delete('web')
  })

  it('takes no address that somebody registered for something else', async () => {
    await putServiceCIDR(store, 'kubernetes', ['10.0.0.0/30'])
    await store.commit([], [{ key: '/registry/ipaddresses.networking.k8s.io/10.0.0.1', value: Buffer.from('{}') }])
    expect((await writer.create('web', web)).clusterIP).toBe('10.0.0.2')
    await expect(writer.create('other', web)).rejects.toThrow('range is full')
  })
})

describe('ranges', () => {
  it('goes on in a range that was added, and leaves one that is deleted', async () => {
    await putServiceCIDR(store, 'kubernetes', ['10.0.0.0/30'])
    await writer.create('a', web)
    await writer.create('b', web)
    await putServiceCIDR(store, 'more', ['10.1.0.0/30'])
    expect(within('10.1.0.0/30', (await writer.create('c', web)).clusterIP!)).toBe(true)
    await writer.delete('a')
    await putServiceCIDR(store, 'kubernetes', ['10.0.0.0/30'], { deleting: true })
    expect(within('10.1.0.0/30', (await writer.create('d', web)).clusterIP!)).toBe(true)
    await expect(writer.create('e', web)).rejects.toThrow('range is full')
  })

  it('draws from no range that is not ready', async () => {
    await singleStack()
    const conditions = [{ type: 'Ready', status: 'False', reason: '', message: '', lastTransitionTime: '' }]
    await putServiceCIDR(store, 'kubernetes', ['10.96.0.0/16'], { status: { conditions } })
    await expect(writer.create('web', web)).rejects.toThrow('range is full')
    await expect(writer.create('web', { ...web, clusterIP: '10.96.0.9' })).rejects.toThrow('does not match')
  })

  it('takes a range without conditions for ready', async () => {
    await putServiceCIDR(store, 'kubernetes', ['10.96.0.0/16'], { status: {} })
    expect((await writer.create('web', web)).clusterIP).toMatch(/^10\.96\./)
  })

  it('knows what is taken in overlapping ranges', async () => {
    await putServiceCIDR(store, 'kubernetes', ['10.0.0.0/30'])
    await writer.create('a', web)
    await writer.create('b', web)
    await putServiceCIDR(store, 'wider', ['10.0.0.0/29'])
    const ips = new Set<string>()
    for (let i = 0; i < 4; i++) ips.add((await writer.create(`w${i}`, web)).clusterIP!)
    expect([...ips].sort()).toEqual(['10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6'])
  })
})

describe('dual stack', () => {
  it.each<[string, ServiceSpec, string[], string]>([
    ['by default one family', web, ['IPv4'], 'SingleStack'],
    ['PreferDualStack', { ...web, ipFamilyPolicy: 'PreferDualStack' }, ['IPv4', 'IPv6'], 'PreferDualStack'],
    ['RequireDualStack', { ...web, ipFamilyPolicy: 'RequireDualStack' }, ['IPv4', 'IPv6'], 'RequireDualStack'],
    [
      'IPv6 first',
      { ...web, ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'PreferDualStack' },
      ['IPv6', 'IPv4'],
      'PreferDualStack',
    ],
    ['IPv6 only', { ...web, ipFamilies: ['IPv6'] }, ['IPv6'], 'SingleStack'],
    ['by a chosen address', { ...web, clusterIP: 'fd00:10:96::5' }, ['IPv6'], 'SingleStack'],
    ['headless with selector', { ...web, clusterIP: 'None', selector: { a: 'b' } }, ['IPv4'], 'SingleStack'],
    ['headless without selector', { ...web, clusterIP: 'None' }, ['IPv4', 'IPv6'], 'RequireDualStack'],
  ])('%s', async (_, spec, families, policy) => {
    await dualStack()
    const made = await writer.create('web', spec)
    expect(made).toMatchObject({ ipFamilies: families, ipFamilyPolicy: policy })
    if (spec.clusterIP === 'None') return
    expect(made.clusterIPs!.map((ip) => parseIP(ip)!.family)).toEqual(families)
    expect(await heldIPs(store)).toEqual([...made.clusterIPs!].sort())
  })

  it('a headless Service without selector has both families on any cluster', async () => {
    await singleStack()
    expect((await writer.create('web', { ...web, clusterIP: 'None' })).ipFamilies).toEqual(['IPv4', 'IPv6'])
  })

  it('prefers both, but lives with one', async () => {
    await singleStack()
    const made = await writer.create('web', { ...web, ipFamilyPolicy: 'PreferDualStack' })
    expect(made.ipFamilies).toEqual(['IPv4'])
    await dualStack()
    const same = await writer.update('web', (spec) => ({ ...spec, selector: { a: 'b' } }))
    expect(same.clusterIPs).toEqual(made.clusterIPs)
  })

  it('adds and drops the second family', async () => {
    await dualStack()
    const made = await writer.create('web', web)
    const both = await writer.update('web', (spec) => ({ ...spec, ipFamilyPolicy: 'RequireDualStack' }))
    expect(both.clusterIPs![0]).toBe(made.clusterIP)
    expect(await heldIPs(store)).toEqual([...both.clusterIPs!].sort())
    const one = await writer.update('web', (spec) => ({ ...spec, ipFamilyPolicy: 'SingleStack' }))
    expect(one.clusterIPs).toEqual([made.clusterIP])
    expect(one.ipFamilies).toEqual(['IPv4'])
    expect(await heldIPs(store)).toEqual([made.clusterIP])
  })

  it('takes the second address that is asked for', async () => {
    await dualStack()
    await writer.create('web', web)
    const both = await writer.update('web', (spec) => ({
      ...spec,
      ipFamilyPolicy: 'RequireDualStack',
      clusterIPs: [spec.clusterIP!, 'fd00:10:96::99'],
    }))
    expect(both.clusterIPs![1]).toBe('fd00:10:96::99')
    expect(both.ipFamilies).toEqual(['IPv4', 'IPv6'])
  })

  it('drops nothing without being told so', async () => {
    await dualStack()
    await writer.create('web', { ...web, ipFamilyPolicy: 'RequireDualStack' })
    await expect(
      writer.update('web', (spec) => ({ ...spec, clusterIPs: [spec.clusterIP!], ipFamilies: ['IPv4'] })),
    ).rejects.toThrow("must be 'SingleStack' to release the secondary cluster IP")
    expect(await heldIPs(store)).toHaveLength(2)
  })
})

describe('type changes', () => {
  const toExternalName = (spec: ServiceSpec): ServiceSpec => ({
    ...spec,
    type: 'ExternalName',
    externalName: 'example.com',
  })

  it('keeps addresses and node ports when the same manifest is sent again', async () => {
    await singleStack()
    const manifest: ServiceSpec = {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81 },
      ],
    }
    const made = await writer.create('web', manifest)
    expect(await writer.update('web', () => structuredClone(manifest))).toEqual(made)
  })

  it('to ExternalName and back', async () => {
    await singleStack()
    await writer.create('web', { ...web, type: 'NodePort' })
    const named = await writer.update('web', toExternalName)
    expect(named).toMatchObject({ type: 'ExternalName', ports: [{ port: 80 }] })
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'externalTrafficPolicy']) {
      expect(named).not.toHaveProperty(field)
    }
    expect(await heldIPs(store)).toEqual([])
    expect(await heldPorts(store)).toEqual([])
    const { externalName: _, ...back } = await writer.update('web', (spec) => ({ ...spec, type: 'ClusterIP' }))
    expect(back.clusterIPs).toEqual([back.clusterIP])
    expect(await heldIPs(store)).toEqual([back.clusterIP])
  })

  it('ClusterIP to NodePort to LoadBalancer to ClusterIP', async () => {
    await singleStack()
    const { clusterIP } = await writer.create('web', web)
    const nodePort = await writer.update('web', (spec) => ({ ...spec, type: 'NodePort' }))
    const port = nodePort.ports![0]!.nodePort!
    expect(await heldPorts(store)).toEqual([port])
    const balanced = await writer.update('web', (spec) => ({ ...spec, type: 'LoadBalancer' }))
    expect(balanced.ports![0]!.nodePort).toBe(port)
    const local = await writer.update('web', (spec) => ({ ...spec, externalTrafficPolicy: 'Local' }))
    expect(await heldPorts(store)).toEqual([port, local.healthCheckNodePort!].sort())
    const plain = await writer.update('web', (spec) => ({ ...spec, type: 'ClusterIP' }))
    expect(plain).toEqual({ ...(await writer.read('web')).old.spec, clusterIP })
    expect(plain).not.toHaveProperty('healthCheckNodePort')
    expect(plain.ports![0]).not.toHaveProperty('nodePort')
    expect(await heldPorts(store)).toEqual([])
    expect(await heldIPs(store)).toEqual([clusterIP])
  })

  it('frees everything on deletion, once', async () => {
    await dualStack()
    await writer.create('web', {
      ...web,
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ipFamilyPolicy: 'RequireDualStack',
    })
    expect(await heldIPs(store)).toHaveLength(2)
    expect(await heldPorts(store)).toHaveLength(2)
    await writer.delete('web')
    expect(await heldIPs(store)).toEqual([])
    expect(await heldPorts(store)).toEqual([])
  })

  it('frees nothing that belongs to another', async () => {
    await singleStack()
    const { clusterIP, ports } = await writer.create('web', { ...web, type: 'NodePort' })
    const { old } = await writer.read('web')
    const stranger = { ...old, metadata: { ...old.metadata, name: 'stranger', uid: 'other' } }
    expect((await writer.allocator.release(stranger)).writes).toEqual([])
    expect(await heldIPs(store)).toEqual([clusterIP])
    expect(await heldPorts(store)).toEqual([ports![0]!.nodePort])
  })
})

describe('node ports', () => {
  it('shares one between protocols of the same port', async () => {
    await singleStack()
    const { ports } = await writer.create('dns', {
      type: 'NodePort',
      ports: [
        { name: 'tcp', port: 53, protocol: 'TCP' },
        { name: 'udp', port: 53, protocol: 'UDP' },
        { name: 'metrics', port: 9153 },
      ],
    })
    expect(ports![0]!.nodePort).toBe(ports![1]!.nodePort)
    expect(ports![2]!.nodePort).not.toBe(ports![0]!.nodePort)
    expect(await heldPorts(store)).toHaveLength(2)
  })

  it('draws from above the reserved part', async () => {
    await singleStack()
    for (let i = 0; i < 30; i++) {
      const { ports } = await writer.create(`s${i}`, { ...web, type: 'NodePort' })
      expect(ports![0]!.nodePort).toBeGreaterThanOrEqual(30086)
      expect(ports![0]!.nodePort).toBeLessThanOrEqual(32767)
    }
  })

  it.each<[string, ServiceSpec, string]>([
    [
      'a port in use',
      { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] },
      'spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
    ],
    [
      'a port out of range',
      { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] },
      'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
    ],
    [
      'the same port twice',
      {
        type: 'NodePort',
        ports: [
          { name: 'a', port: 80, nodePort: 30081 },
          { name: 'b', port: 81, nodePort: 30081 },
        ],
      },
      'spec.ports[1].nodePort: Invalid value: 30081: provided port is already allocated',
    ],
    [
      'a health check port in use',
      { ...web, type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30080 },
      'Internal error occurred: failed to allocate requested HealthCheck NodePort 30080: provided port is already allocated',
    ],
  ])('refuses %s', async (_, spec, message) => {
    await singleStack()
    await writer.create('first', { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] })
    await expect(writer.create('web', spec)).rejects.toThrow(message)
    expect(await heldPorts(store)).toEqual([30080])
    expect(await heldIPs(store)).toHaveLength(1)
  })

  it('gives a load balancer none that wants none, but honours a choice', async () => {
    await singleStack()
    const { ports } = await writer.create('web', {
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81, nodePort: 30001 },
      ],
    })
    expect(ports!.map((port) => port.nodePort)).toEqual([undefined, 30001])
    expect(await heldPorts(store)).toEqual([30001])
  })

  it('moves to another port in one step', async () => {
    await singleStack()
    await writer.create('web', { type: 'NodePort', ports: [{ port: 80, nodePort: 30001 }] })
    const change = (spec: ServiceSpec): ServiceSpec => ({ ...spec, ports: [{ port: 80, nodePort: 30002 }] })
    await writer.update('web', change)
    expect(await heldPorts(store)).toEqual([30002])
  })

  it('uses a small range up and says when it is full', async () => {
    await singleStack()
    using small = new ServiceWriter(store, { nodePortRange: { from: 30000, to: 30019 } })
    const used = new Set<number>()
    for (let i = 0; i < 20; i++) {
      used.add((await small.create(`s${i}`, { ...web, type: 'NodePort' })).ports![0]!.nodePort!)
      if (i === 3) expect(Math.min(...used)).toBe(30016)
    }
    expect(used.size).toBe(20)
    await expect(small.create('more', { ...web, type: 'NodePort' })).rejects.toThrow(
      'Internal error occurred: failed to allocate a nodePort: range is full',
    )
    await small.delete('s7')
    await small.create('more', { ...web, type: 'NodePort' })
  })
})

describe('two servers on one store', () => {
  it('never give the same address or port twice', async () => {
    await putServiceCIDR(store, 'kubernetes', ['10.0.0.0/26'])
    const nodePortRange = { from: 30000, to: 30061 }
    using a = new ServiceWriter(store, { seed: 7, nodePortRange })
    using b = new ServiceWriter(store, { seed: 7, nodePortRange })
    const specs = await Promise.all(
      Array.from({ length: 62 }, (_, i) => [a, b][i % 2]!.create(`s${i}`, { ...web, type: 'NodePort' })),
    )
    expect(a.conflicts + b.conflicts).toBeGreaterThan(0)
    expect(new Set(specs.map((spec) => spec.clusterIP)).size).toBe(62)
    expect(new Set(specs.map((spec) => spec.ports![0]!.nodePort)).size).toBe(62)
    await Promise.all(Array.from({ length: 62 }, (_, i) => [b, a][i % 2]!.delete(`s${i}`)))
    expect(await heldIPs(store)).toEqual([])
    expect(await heldPorts(store)).toEqual([])
    await Promise.all(
      Array.from({ length: 62 }, (_, i) => [a, b][i % 2]!.create(`t${i}`, { ...web, type: 'NodePort' })),
    )
  })

  it('tells the loser of a race for one address that it is taken', async () => {
    await singleStack()
    using other = new ServiceWriter(store, { seed: 2 })
    const chosen: ServiceSpec = { ...web, clusterIP: '10.96.0.10' }
    const results = await Promise.allSettled([writer.create('a', chosen), other.create('b', chosen)])
    expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected'])
    const failed = results.find((result) => result.status === 'rejected') as PromiseRejectedResult
    expect(String(failed.reason)).toContain('provided IP is already allocated')
  })

  it('races of update and deletion leave nothing behind', async () => {
    await dualStack()
    using other = new ServiceWriter(store, { seed: 3 })
    for (let round = 0; round < 20; round++) {
      await writer.create('web', { ...web, type: 'NodePort' })
      await Promise.allSettled([
        writer.update('web', (spec) => ({ ...spec, ipFamilyPolicy: 'RequireDualStack' })),
        other.update('web', (spec) => ({ ...spec, type: 'LoadBalancer', externalTrafficPolicy: 'Local' })),
        other.delete('web'),
      ])
      if (await store.get('/registry/services/default/web')) await writer.delete('web')
      expect(await heldIPs(store)).toEqual([])
      expect(await heldPorts(store)).toEqual([])
    }
  })
})

it('a dry run leaves nothing behind', async () => {
  await singleStack()
  const draft = { metadata: { name: 'web', namespace: 'default' }, spec: { ...web, type: 'NodePort' } }
  const { conditions, writes } = await writer.allocator.create(draft)
  expect(conditions.map((condition) => condition.revision)).toEqual([0, 0])
  expect(writes).toHaveLength(2)
  expect(await heldIPs(store)).toEqual([])
  expect(await heldPorts(store)).toEqual([])
})
