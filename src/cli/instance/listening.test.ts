import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { nodeNameOf, withMachines } from './listening.ts'

const own = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ internal }) => !internal)?.address
const simulated = { nodes: 3, runtime: 'simulated' } as const
const none = { nodes: 0, runtime: 'builtin' } as const

describe('withMachines', () => {
  it.each([
    ['nothing asked for', simulated, {}, {}, simulated],
    ['loopback', simulated, { listen: '127.0.0.1' }, { listen: '0.0.0.0' }, simulated],
    ['everywhere', simulated, { listen: '0.0.0.0' }, {}, { ...simulated, listen: '0.0.0.0' }],
    ['as last time', simulated, {}, { listen: '0.0.0.0' }, { ...simulated, listen: '0.0.0.0' }],
    ['no node here', none, { listen: '0.0.0.0', nodeName: 'a' }, {}, { ...none, listen: '0.0.0.0', nodeName: 'a' }],
    ['a name of last time', none, { listen: '::' }, { nodeName: 'b' }, { ...none, listen: '::', nodeName: 'b' }],
  ])('%s', (_, chosen, asked, saved, expected) => expect(withMachines(chosen, asked, saved)).toEqual(expected))

  it.skipIf(own === undefined)('an address of this machine', () => {
    expect(withMachines(simulated, { listen: own! }, {})).toEqual({ ...simulated, listen: own })
  })

  it.each([
    ['no address', simulated, { listen: 'here' }, 'here is no address to listen on'],
    ['of another machine', simulated, { listen: '192.0.2.1' }, '192.0.2.1 is no address of this machine'],
    ['several nodes', { ...none, nodes: 3 }, { listen: '0.0.0.0', nodes: 3 }, 'this machine is one node itself'],
    ['a name for nobody', simulated, { nodeName: 'a' }, '--node-name is for a machine that others join'],
    ['a bad name', none, { listen: '0.0.0.0', nodeName: 'A_B' }, '"A_B" is no name for a node'],
  ])('refuses %s', (_, chosen, asked, message) => expect(() => withMachines(chosen, asked, {})).toThrow(message))
})

describe('IPv6', () => {
  const [v4, v6] = ['192.0.2.1', '2001:db8::1']
  it.each([
    ['an address of its own', simulated, v6, [v4, v6]],
    ['everywhere', none, '::', [v4, v6]],
    ['everywhere, without a network', none, '::', []],
  ])('is listened on: %s', (_, chosen, listen, own) =>
    expect(withMachines(chosen, { listen }, {}, own)).toMatchObject({ listen }),
  )

  it.each([
    [v6, [v4, v6]],
    ['::', [v6]],
  ])('is not what nodes reach each other by: %s of %j', (listen, own) =>
    expect(() => withMachines(none, { listen }, {}, own)).toThrow(`nodes reach each other by IPv4, not by ${listen}`),
  )
})

it('a node is called as its machine unless told', () => {
  expect(nodeNameOf('web-1.example.com')).toBe('web-1.example.com')
  expect(nodeNameOf(undefined)).toMatch(/^[a-z0-9.-]+$/)
})
