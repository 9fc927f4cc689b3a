import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type ClusterConfiguration,
  fromDocument,
  inScope,
  mergeConfiguration,
  runtimeOf,
  SETTINGS,
  type SettingName,
  settingsOf,
  toDocument,
  valueFor,
} from './configuration.ts'
import type { Setting } from './setting.ts'

const names = Object.keys(SETTINGS) as SettingName[]
const setting = (name: SettingName): Setting<unknown> => SETTINGS[name]

describe('the table of settings', () => {
  it.each(names)('%s has a flag, help for it, and a default that is valid', (name) => {
    const { flags, argument, default: value } = setting(name)
    expect(Object.keys(flags).length).toBeGreaterThan(0)
    for (const { help } of Object.values(flags)) expect(help).not.toBe('')
    expect(argument).not.toBe('')
    if (value !== undefined) expect(setting(name).problemWith(value)).toBeUndefined()
  })

  it.each<[SettingName, unknown]>([
    ['store', 'embedded'],
    ['apiPort', 6443],
    ['proxyMode', 'nftables'],
    ['featureGates', []],
    ['nodes', undefined],
    ['network', undefined],
  ])('%s has the default %j', (name, expected) => {
    expect(valueFor({}, name)).toEqual(expected)
  })

  it('prints defaults in the help of up', () => {
    expect(SETTINGS.apiPort.flags.up?.help).toContain('(default: 6443)')
    expect(SETTINGS.proxyMode.flags.join?.help).toContain("(default: the cluster's)")
  })
})

describe('flags', () => {
  it.each<[SettingName, string, unknown]>([
    ['store', 'etcd://a:1', 'etcd://a:1'],
    ['etcdCa', 'ca.pem', resolve('ca.pem')],
    ['auditLog', '-', '-'],
    ['auditLog', 'log', resolve('log')],
    ['featureGates', 'ClusterTrustBundle=true', ['ClusterTrustBundle']],
    ['apiPort', '0', 0],
    ['nodes', '3', 3],
    ['runtime', 'containerd', 'containerd'],
    ['containerRuntimeEndpoint', 'unix:///run/x.sock', 'unix:///run/x.sock'],
    ['listen', '::', '::'],
    ['nodeIp', '10.0.0.1', '10.0.0.1'],
    ['nodeName', 'web-1', 'web-1'],
  ])('%s reads %j', (name, text, value) => {
    expect(setting(name).parse(text)).toEqual(value)
    expect(setting(name).problemWith(value)).toBeUndefined()
  })

  it.each<[SettingName, string, string]>([
    ['store', 'sqlite', 'use embedded, memory or etcd'],
    ['featureGates', 'Nope=true', 'unrecognized feature gate: Nope'],
    ['apiPort', '70000', 'must be a whole number from 0 to 65535'],
    ['apiPort', '-1', 'must be a whole number'],
    ['apiPort', '1e3', 'must be a whole number'],
    ['nodes', 'many', 'must be a whole number from 0 to 99999'],
    ['nodes', '', 'must be a whole number'],
    ['runtime', 'docker', 'must be one of builtin, containerd, simulated'],
    ['proxyMode', 'ipvs', 'must be one of nftables, iptables, userspace'],
    ['network', 'flannel', 'must be one of host-gw, vxlan'],
    ['containerRuntimeEndpoint', 'tcp://10.0.0.1', 'must be the path of a socket'],
    ['listen', 'here', '"here" is not an IP address'],
    ['nodeIp', '10.0.0', 'is not an IP address'],
    ['nodeName', 'A_B', '"A_B" is not a node name'],
  ])('%s rejects %j', (name, text, message) => {
    expect(() => setting(name).parse(text)).toThrow(message)
  })

  it('join has the settings of a node, up all but nodeIp', () => {
    expect(settingsOf('join')).toEqual([
      'runtime',
      'containerRuntimeEndpoint',
      'proxyMode',
      'seccompDefault',
      'podMaxPids',
      'allowHostPath',
      'allowForwardingFrom',
      'nodeName',
      'nodeIp',
    ])
    expect(settingsOf('up')).toEqual(names.filter((name) => name !== 'nodeIp'))
  })
})

describe('documents', () => {
  it('are read back as they were written', () => {
    const configuration: ClusterConfiguration = {
      nodes: 3,
      featureGates: ['ClusterTrustBundle'],
      proxyMode: 'iptables',
    }
    expect(fromDocument(JSON.parse(JSON.stringify(toDocument(configuration))), 'x')).toEqual(configuration)
  })

  const header = { apiVersion: 'sampan.dev/v1alpha1', kind: 'ClusterConfiguration' }
  it.each<[string, unknown, string]>([
    ['another version', { ...header, apiVersion: 'v1' }, 'apiVersion: must be sampan.dev/v1alpha1'],
    ['another kind', { ...header, kind: 'Pod' }, 'kind: must be ClusterConfiguration'],
    ['nothing', null, 'kind: must be ClusterConfiguration'],
    ['an unknown field', { ...header, colour: 'red' }, 'colour: unknown field'],
    ["a field of an object's prototype", { ...header, toString: 1 }, 'toString: unknown field'],
    ['a number as text', { ...header, nodes: '3' }, 'nodes: must be a whole number'],
    ['a fraction', { ...header, nodes: 1.5 }, 'nodes: must be a whole number'],
    ['a choice that is none', { ...header, network: 'x' }, 'network: must be one of host-gw, vxlan'],
    ['a text that is none', { ...header, etcdCa: 1 }, 'etcdCa: must be a string'],
    ['a bad address', { ...header, listen: 'here' }, 'listen: "here" is not an IP address'],
    ['no list', { ...header, featureGates: 'a' }, 'featureGates: must be a list of strings'],
    ['an unknown gate', { ...header, featureGates: ['a'] }, 'featureGates: unrecognized feature gate: a'],
  ])('are rejected with the field: %s', (_, document, problem) => {
    expect(() => fromDocument(document, 'sampan.yaml')).toThrow(
      expect.objectContaining({
        message: 'sampan.yaml is not a valid ClusterConfiguration',
        hints: expect.arrayContaining([expect.stringContaining(problem)]),
      }),
    )
  })
})

describe('mergeConfiguration', () => {
  it.each<[string, ClusterConfiguration, ClusterConfiguration, ClusterConfiguration]>([
    ['keeps what was not asked for', { nodes: 2, network: 'vxlan' }, { nodes: 3 }, { nodes: 3, network: 'vxlan' }],
    [
      'a socket replaces a runtime',
      { runtime: 'builtin' },
      { containerRuntimeEndpoint: 's' },
      { containerRuntimeEndpoint: 's' },
    ],
    ['a runtime replaces a socket', { containerRuntimeEndpoint: 's' }, { runtime: 'builtin' }, { runtime: 'builtin' }],
    ['files of etcd are replaced together', { etcdCa: 'a', etcdKey: 'k' }, { etcdCa: 'b' }, { etcdCa: 'b' }],
  ])('%s', (_, saved, asked, expected) => expect(mergeConfiguration(saved, asked)).toEqual(expected))
})

it('splits a configuration by who uses it', () => {
  const configuration: ClusterConfiguration = {
    store: 'memory',
    featureGates: [],
    proxyMode: 'iptables',
    network: 'vxlan',
  }
  expect(inScope('control-plane', configuration)).toEqual({ featureGates: [] })
  expect(inScope('node', configuration)).toEqual({ proxyMode: 'iptables', network: 'vxlan' })
  expect(inScope('command', configuration)).toEqual({ store: 'memory' })
})

it.each<[ClusterConfiguration, string | undefined]>([
  [{}, undefined],
  [{ runtime: 'containerd' }, 'containerd'],
  [{ containerRuntimeEndpoint: 'unix:///x' }, 'cri'],
])('the runtime of %j is %s', (configuration, expected) => expect(runtimeOf(configuration)).toBe(expected))
