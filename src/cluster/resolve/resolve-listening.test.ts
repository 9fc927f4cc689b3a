import { describe, expect, it } from 'vitest'
import type { ClusterConfiguration } from '../configuration.ts'
import type { MachineFacts } from './machine-facts.ts'
import { nodeNameOf, resolveListening } from './resolve-listening.ts'

const machine = (more: Partial<MachineFacts> = {}): MachineFacts => ({
  platform: 'linux',
  isRoot: true,
  hostname: 'Host-1',
  addresses: ['192.0.2.1', '2001:db8::1'],
  missingPrograms: () => [],
  ...more,
})
const simulated: ClusterConfiguration = { nodes: 3, runtime: 'simulated' }
const none: ClusterConfiguration = { nodes: 0, runtime: 'builtin' }
const one: ClusterConfiguration = { nodes: 1, runtime: 'builtin' }

describe('resolveListening', () => {
  it.each<[string, ClusterConfiguration, ClusterConfiguration]>([
    ['does not listen unless asked', simulated, simulated],
    ['takes loopback for not listening, and forgets the name', { ...one, listen: '127.0.0.1', nodeName: 'a' }, one],
    ['listens everywhere', { ...simulated, listen: '0.0.0.0' }, { ...simulated, listen: '0.0.0.0' }],
    ['listens on an own address', { ...simulated, listen: '192.0.2.1' }, { ...simulated, listen: '192.0.2.1' }],
    ['keeps the name of the node', { ...one, listen: '::', nodeName: 'b' }, { ...one, listen: '::', nodeName: 'b' }],
    ['names the node after the machine', { ...one, listen: '::' }, { ...one, listen: '::', nodeName: 'host-1' }],
    ['needs no node here', { ...none, listen: '::' }, { ...none, listen: '::', nodeName: 'host-1' }],
    ['leaves one of several nodes', { ...one, nodes: 3, listen: '::' }, { ...one, listen: '::', nodeName: 'host-1' }],
    [
      'listens on IPv6 with simulated nodes',
      { ...simulated, listen: '2001:db8::1' },
      { ...simulated, listen: '2001:db8::1' },
    ],
  ])('%s', (_, configuration, expected) => {
    expect(resolveListening(configuration, {}, machine())).toEqual(expected)
  })

  it.each<[string, ClusterConfiguration, ClusterConfiguration, Partial<MachineFacts>, string]>([
    [
      'an address of another machine',
      simulated,
      { listen: '192.0.2.9' },
      {},
      '192.0.2.9 is not an address of this machine',
    ],
    ['several nodes', { ...one, nodes: 3 }, { listen: '0.0.0.0', nodes: 3 }, {}, 'this machine is one node itself'],
    ['a node name without --listen', simulated, { nodeName: 'a' }, {}, '--node-name is for a machine that others join'],
    ['a node without root', one, { listen: '0.0.0.0' }, { isRoot: false }, 'has to be set up as root'],
    ['an IPv6 address for real nodes', none, { listen: '2001:db8::1' }, {}, 'nodes reach each other by IPv4'],
    [
      'a machine with IPv6 only',
      none,
      { listen: '::' },
      { addresses: ['2001:db8::1'] },
      'nodes reach each other by IPv4',
    ],
  ])('rejects %s', (_, configuration, asked, facts, message) => {
    expect(() => resolveListening({ ...configuration, ...asked }, asked, machine(facts))).toThrow(message)
  })

  it('accepts a machine without any network', () => {
    const listening = resolveListening({ ...none, listen: '::' }, {}, machine({ addresses: [] }))
    expect(listening).toMatchObject({ listen: '::' })
  })
})

it.each([
  ['web-1.example.com', 'web-1.example.com'],
  [undefined, 'host-1'],
])('nodeNameOf(%j) is %s', (asked, expected) => expect(nodeNameOf(asked, machine())).toBe(expected))

it('rejects a hostname that is not a node name', () => {
  expect(() => nodeNameOf(undefined, { hostname: 'a_b' })).toThrow('"a_b" is not a node name')
})
