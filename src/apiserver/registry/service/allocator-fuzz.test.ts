import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Service } from '../../../api/generated/core-v1.ts'
import { serviceKind } from '../../../api/kinds/core/service/kind.ts'
import { ApiError } from '../../../api/meta/api-error.ts'
import { openMemoryStore } from '../../../store/embedded.ts'
import { heldIPs, heldPorts, putServiceCIDR, ServiceWriter } from './service-fixture.ts'

type Spec = NonNullable<Service['spec']>

/** Changes that a user might make, sensible or not; a few of them at once. */
const CHANGES: readonly Spec[] = [
  ...['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName', 'Other'].map((type) => ({ type, externalName: 'a.b' })),
  ...['None', 'x', '10.0.0.1', '10.0.0.2', '10.9.9.9', '010.0.0.1', 'fd00::1', 'FD00::2', ''].map((clusterIP) => ({
    clusterIP,
  })),
  ...['10.0.0.1', 'fd00::5', 'None'].map((ip) => ({ clusterIP: ip, clusterIPs: [ip] })),
  { clusterIP: '10.0.0.3', clusterIPs: ['10.0.0.3', 'fd00::3'] },
  { clusterIPs: [] },
  ...[['IPv4'], ['IPv6'], ['IPv4', 'IPv6'], ['IPv6', 'IPv4'], [], ['IPX']].map((ipFamilies) => ({ ipFamilies })),
  ...['SingleStack', 'PreferDualStack', 'RequireDualStack', 'Any'].map((ipFamilyPolicy) => ({ ipFamilyPolicy })),
  ...['Local', 'Cluster', ''].map((externalTrafficPolicy) => ({ externalTrafficPolicy })),
  ...[0, 30001, 30019, 40000].map((healthCheckNodePort) => ({ healthCheckNodePort })),
  ...[true, false].map((allocateLoadBalancerNodePorts) => ({ allocateLoadBalancerNodePorts })),
  ...[30000, 30001, 30002, 40000, 0].map((nodePort) => ({ ports: [{ port: 80, nodePort }] })),
  {
    ports: [
      { name: 'a', port: 53 },
      { name: 'b', port: 53, protocol: 'UDP' },
    ],
  },
  {
    ports: [
      { name: 'a', port: 53, nodePort: 30000 },
      { name: 'b', port: 54, nodePort: 30000, protocol: 'UDP' },
    ],
  },
  {
    ports: [
      { name: 'b', port: 1 },
      { name: 'c', port: 2, nodePort: 30001 },
    ],
  },
  { ports: [] },
  { selector: { a: 'b' } },
]

const oneOf = fc.constantFrom
const spec = fc
  .array(oneOf(...CHANGES), { maxLength: 2 })
  .map((changes): Spec => Object.assign({}, ...changes.map((change) => structuredClone(change))))

const steps = fc.array(
  fc.oneof(
    fc.record({ verb: fc.constant('create' as const), name: oneOf('a', 'b'), spec }),
    fc.record({ verb: fc.constant('update' as const), name: oneOf('a', 'b'), spec }),
    fc.record({ verb: fc.constant('delete' as const), name: oneOf('a', 'b'), spec }),
  ),
  { minLength: 6, maxLength: 14 },
)

/** What Services say they use is exactly what is held, whatever was sent. */
it('keeps both sides equal over any sequence of writes', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (sequence, isDual) => {
      await using store = openMemoryStore()
      using writer = new ServiceWriter(store, { nodePortRange: { from: 30000, to: 30019 } })
      await putServiceCIDR(store, 'kubernetes', isDual ? ['10.0.0.0/28', 'fd00::/124'] : ['10.0.0.0/28'])
      for (const step of sequence) await attempt(writer, step)
      const used = await usedBy(writer)
      expect(await heldIPs(store)).toEqual(used.ips)
      expect(await heldPorts(store)).toEqual(used.ports)
    }),
    { numRuns: 300 },
  )
})

type Step = { verb: 'create' | 'update' | 'delete'; name: string; spec: Spec }

async function attempt(writer: ServiceWriter, { verb, name, spec }: Step): Promise<void> {
  const exists = (await writer.store.get(`/registry/services/default/${name}`)) !== undefined
  if (exists === (verb === 'create')) return
  try {
    if (verb === 'create') await writer.create(name, { ports: [{ port: 80 }], ...spec })
    else if (verb === 'update') await writer.update(name, (old) => ({ ...old, ...structuredClone(spec) }))
    else await writer.delete(name)
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError)
  }
}

async function usedBy(writer: ServiceWriter): Promise<{ ips: string[]; ports: number[] }> {
  const ips = new Set<string>()
  const ports = new Set<number>()
  for (const entry of (await writer.store.list('/registry/services/')).entries) {
    const service = JSON.parse(entry.value.toString()) as Service
    expect(serviceKind.validate!(service)).toEqual([])
    for (const ip of service.spec!.clusterIPs ?? []) if (ip !== 'None') ips.add(ip.toLowerCase())
    if (service.spec!.type !== 'ExternalName')
      for (const port of service.spec!.ports ?? []) if (port.nodePort) ports.add(port.nodePort)
    if (service.spec!.healthCheckNodePort) ports.add(service.spec!.healthCheckNodePort)
  }
  return { ips: [...ips].sort(), ports: [...ports].sort() }
}
