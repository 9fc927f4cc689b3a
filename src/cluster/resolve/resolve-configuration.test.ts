import { describe, expect, it } from 'vitest'
import type { ClusterConfiguration } from '../configuration.ts'
import type { MachineFacts } from './machine-facts.ts'
import { resolveConfiguration } from './resolve-configuration.ts'

const LINUX: MachineFacts = {
  platform: 'linux',
  isRoot: true,
  hostname: 'host',
  addresses: [],
  missingPrograms: () => [],
}
const MAC = { ...LINUX, platform: 'darwin' }
const SOCKET = 'unix:///run/crio.sock'
const defaults = { store: 'embedded', apiPort: 6443 }

describe('resolveConfiguration', () => {
  it.each<[string, ClusterConfiguration, ClusterConfiguration, MachineFacts, ClusterConfiguration]>([
    ['one real node on Linux', {}, {}, LINUX, { nodes: 1, runtime: 'builtin' }],
    ['no nodes elsewhere', {}, {}, MAC, { nodes: 0, runtime: 'simulated' }],
    [
      'what was asked for',
      { nodes: 3, proxyMode: 'iptables' },
      {},
      LINUX,
      { nodes: 3, runtime: 'builtin', proxyMode: 'iptables' },
    ],
    ['the last start', {}, { nodes: 2, network: 'vxlan' }, LINUX, { nodes: 2, runtime: 'builtin', network: 'vxlan' }],
    ['flags over the last start', { nodes: 0 }, { nodes: 2 }, LINUX, { nodes: 0, runtime: 'builtin' }],
    ['one node on a runtime that was named', { runtime: 'simulated' }, {}, MAC, { nodes: 1, runtime: 'simulated' }],
    [
      'as many nodes as before on it',
      { runtime: 'containerd' },
      { nodes: 4, runtime: 'builtin' },
      LINUX,
      { nodes: 4, runtime: 'containerd' },
    ],
    [
      'a socket in place of a runtime',
      { containerRuntimeEndpoint: SOCKET },
      { nodes: 1, runtime: 'builtin' },
      LINUX,
      { nodes: 1, containerRuntimeEndpoint: SOCKET },
    ],
    [
      'a runtime in place of a socket',
      { runtime: 'builtin' },
      { nodes: 1, containerRuntimeEndpoint: SOCKET },
      LINUX,
      { nodes: 1, runtime: 'builtin' },
    ],
    [
      'the socket of the last start',
      {},
      { nodes: 1, containerRuntimeEndpoint: SOCKET },
      LINUX,
      { nodes: 1, containerRuntimeEndpoint: SOCKET },
    ],
    [
      'the port and store of the last start',
      {},
      { apiPort: 7443, store: 'memory' },
      LINUX,
      { nodes: 1, runtime: 'builtin', apiPort: 7443, store: 'memory' },
    ],
  ])('has %s', (_, asked, saved, machine, expected) => {
    expect(resolveConfiguration(asked, saved, machine).configuration).toEqual({ ...defaults, ...expected })
  })

  it.each([
    ['nothing was said', {}, {}, true],
    ['a number was asked for', { nodes: 1 }, {}, false],
    ['there was one at the last start', {}, { nodes: 1 }, false],
    ['a runtime was named', { runtime: 'builtin' } as const, {}, false],
  ])('nodes are optional only if nothing asks for them: %s', (_, asked, saved, expected) => {
    expect(resolveConfiguration(asked, saved, LINUX).nodesOptional).toBe(expected)
  })

  it.each<[string, ClusterConfiguration, ClusterConfiguration, Partial<MachineFacts>, string]>([
    ['nodes without Linux', { nodes: 1 }, {}, { platform: 'darwin' }, 'real pods need Linux, this is darwin'],
    ['a runtime without Linux', { runtime: 'builtin' }, {}, { platform: 'darwin' }, 'real pods need Linux'],
    ['containerd without root', { runtime: 'containerd' }, {}, { isRoot: false }, 'nodes on containerd need root'],
    [
      'a CRI socket without root',
      { containerRuntimeEndpoint: SOCKET },
      {},
      { isRoot: false },
      'nodes on a CRI runtime need root',
    ],
    [
      'containerd that is not installed',
      { runtime: 'containerd' },
      {},
      { missingPrograms: () => ['runc'] },
      'no runc on this machine',
    ],
    ['two runtimes', { runtime: 'builtin', containerRuntimeEndpoint: SOCKET }, {}, {}, 'exclude each other'],
    ['an audit log without a policy', { auditLog: '/log' }, {}, {}, 'an audit log needs a policy'],
  ])('rejects %s', (_, asked, saved, facts, message) => {
    expect(() => resolveConfiguration(asked, saved, { ...LINUX, ...facts })).toThrow(message)
  })

  it('accepts an audit log with the policy of the last start', () => {
    const { configuration } = resolveConfiguration({ auditLog: '-' }, { auditPolicy: '/policy' }, LINUX)
    expect(configuration).toMatchObject({ auditLog: '-', auditPolicy: '/policy' })
  })
})
