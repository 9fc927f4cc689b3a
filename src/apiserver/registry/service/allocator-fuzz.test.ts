import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Service } from '../../../api/generated/core-v1.ts'
import { serviceKind } from '../../../api/kinds/core/service/kind.ts'
import { ApiError } from '../../../api/meta/api-error.ts'
import { openMemoryStore } from '../../../store/embedded.ts'
import { heldIPs, heldPorts, putServiceCIDR, ServiceWriter } from './service-fixture.ts'

const IPS = ['', 'None', 'x', '10.0.0.1', '10.0.0.2', '10.9.9.9', '010.0.0.1', 'fd00::1', 'FD00::2', '::ffff:10.0.0.1']
const FAMILIES = ['IPv4', 'IPv6', 'IPX', '']
const PORTS = [0, -1, 80, 30000, 30001, 30002, 40000]

const oneOf = fc.constantFrom
const spec = fc.record(
  {
    type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName', 'Other', ''),
    clusterIP: oneOf(...IPS),
    clusterIPs: fc.array(oneOf(...IPS), { maxLength: 3 }),
    ipFamilies: fc.array(oneOf(...FAMILIES), { maxLength: 3 }),
    ipFamilyPolicy: oneOf('SingleStack', 'PreferDualStack', 'RequireDualStack', 'Any'),
    externalTrafficPolicy: oneOf('Local', 'Cluster', ''),
    healthCheckNodePort: oneOf(...PORTS),
    allocateLoadBalancerNodePorts: fc.boolean(),
    externalName: oneOf('a.b', ''),
    selector: oneOf({}, { a: 'b' }),
    ports: fc.array(
      fc.record(
        {
          name: oneOf('a', 'b', ''),
          port: oneOf(...PORTS),
          nodePort: oneOf(...PORTS),
          protocol: oneOf('TCP', 'UDP', 'X'),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<NonNullable<Service['spec']>>

const steps = fc.array(
  fc.oneof(
    fc.record({ verb: fc.constant('create' as const), name: oneOf('a', 'b', 'c'), spec }),
    fc.record({ verb: fc.constant('update' as const), name: oneOf('a', 'b', 'c'), spec }),
    fc.record({ verb: fc.constant('delete' as const), name: oneOf('a', 'b', 'c'), spec }),
  ),
  { maxLength: 12 },
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

type Step = { verb: 'create' | 'update' | 'delete'; name: string; spec: NonNullable<Service['spec']> }

async function attempt(writer: ServiceWriter, { verb, name, spec }: Step): Promise<void> {
  const exists = (await writer.store.get(`/registry/services/default/${name}`)) !== undefined
  if (exists === (verb === 'create')) return
  try {
    if (verb === 'create') await writer.create(name, spec)
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
    for (const port of service.spec!.ports ?? []) if (port.nodePort) ports.add(port.nodePort)
    if (service.spec!.healthCheckNodePort) ports.add(service.spec!.healthCheckNodePort)
  }
  return { ips: [...ips].sort(), ports: [...ports].sort() }
}
