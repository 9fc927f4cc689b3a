import { describe, expect, test } from 'vitest'
import type { Endpoint, ServicePort } from '../service-port.ts'
import { layoutOf } from './layout.ts'
import { addressEndpoints, nodePortEndpoints, numberedRules, type Scope } from './load-balancing.ts'
import { PacketMachine, type PacketState } from './packet-machine.ts'

const layout = layoutOf('IPv4')
const endpoints = [1, 2, 3].map((i): Endpoint => ({ ip: `10.244.0.${i}`, port: 8080, isLocal: true, id: `${i}` }))
const port = { protocol: 'TCP', port: 80, clusterIP: '10.96.0.1', nodePort: 30_000 } as ServicePort

/** Where a packet goes that chooses the last number of three. */
function targetOfLast(kind: 'address' | 'nodeport', scope: Scope, present: readonly Endpoint[]): string | undefined {
  const rules = numberedRules(layout, kind, scope, endpoints.length)
  const rendered =
    kind === 'address'
      ? addressEndpoints(layout, port, port.clusterIP, scope, present)
      : nodePortEndpoints(layout, port, scope, present)
  const set = layout.sets[kind === 'address' ? 'endpoints' : 'nodeport-endpoints']
  const table = {
    rules: new Map([['chain', rules]]),
    sets: new Map([[set.name, { set, elements: rendered.map(({ element }) => element) }]]),
  }
  const packet: PacketState = {
    ...{ source: Buffer.from([10, 244, 0, 9]), destination: Buffer.from([10, 96, 0, 1]), protocol: 6 },
    ...{ port: kind === 'address' ? port.port : port.nodePort, mark: 0, inputInterface: '' },
    ...{ dnat: false, masqueraded: false },
  }
  new PacketMachine(table, packet, { isLocal: () => false, choose: (modulus) => modulus - 1, seen() {} }).run('chain')
  return packet.dnat ? packet.destination.join('.') : undefined
}

describe.each(['address', 'nodeport'] as const)('%s', (kind) => {
  test.each(['cluster', 'local'] as const)('a packet between two generations of endpoints (%s)', (scope) => {
    expect(targetOfLast(kind, scope, endpoints)).toBe('10.244.0.3')
    // The last one went after the packet had chosen its number.
    expect(targetOfLast(kind, scope, endpoints.slice(0, 2))).toBe('10.244.0.1')
    expect(targetOfLast(kind, scope, [])).toBeUndefined()
  })
})
