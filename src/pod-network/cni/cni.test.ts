import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PodSandbox } from '../pod-network.ts'
import { capabilityValues } from './chain.ts'
import { loadConfiguration, parseConfiguration } from './configuration.ts'
import { type CniResult, inVersion, podAddresses } from './result.ts'

const parse = (document: unknown) => parseConfiguration(JSON.stringify(document))
const bridge = { type: 'bridge' }

describe('a configuration', () => {
  test.each<[string, object, object]>([
    ['a list', { cniVersion: '1.0.0', name: 'n', plugins: [bridge] }, { cniVersion: '1.0.0', plugins: [bridge] }],
    ['one plugin', { cniVersion: '0.4.0', name: 'n', type: 'ptp' }, { plugins: [{ type: 'ptp' }] }],
    [
      'the newest version of those offered',
      { cniVersion: '0.4.0', cniVersions: ['1.1.0', '9.0.0'], name: 'n', plugins: [bridge] },
      { cniVersion: '1.1.0' },
    ],
    ['no CHECK', { cniVersion: '1.0.0', name: 'n', disableCheck: true, plugins: [bridge] }, { disableCheck: true }],
    [
      'no CHECK, as text',
      { cniVersion: '1.0.0', name: 'n', disableCheck: 'true', plugins: [bridge] },
      { disableCheck: true },
    ],
  ])('may be %s', (_what, document, expected) => {
    expect(parse(document)).toMatchObject(expected)
  })

  test.each<[string, unknown, string]>([
    ['no object', [], 'JSON object'],
    ['no name', { cniVersion: '1.0.0', plugins: [bridge] }, 'needs a name'],
    ['no plugins', { cniVersion: '1.0.0', name: 'n', plugins: [] }, 'no plugins'],
    ['a plugin without type', { cniVersion: '1.0.0', name: 'n', plugins: [{}] }, 'needs a type'],
    ['a path for a type', { cniVersion: '1.0.0', name: 'n', plugins: [{ type: '../sh' }] }, 'needs a type'],
    ['no version', { name: 'n', plugins: [bridge] }, 'wants CNI 0.1.0'],
    ['an unknown version', { cniVersion: '2.0.0', name: 'n', plugins: [bridge] }, 'not supported'],
  ])('is none with %s', (_what, document, problem) => {
    expect(() => parse(document)).toThrow(problem)
  })

  describe('in a directory', () => {
    let directory: string
    beforeEach(() => {
      directory = mkdtempSync(path.join(tmpdir(), 'cni-conf-'))
    })
    afterEach(() => rmSync(directory, { recursive: true, force: true }))

    test('is the first by name that is one', () => {
      const write = (file: string, name: string) =>
        writeFileSync(path.join(directory, file), JSON.stringify({ cniVersion: '1.0.0', name, plugins: [bridge] }))
      expect(loadConfiguration(directory)).toBeUndefined()
      write('20-b.conflist', 'b')
      write('10-a.txt', 'a')
      writeFileSync(path.join(directory, '05-broken.conf'), '{')
      const problems: string[] = []
      expect(loadConfiguration(directory, (file) => problems.push(path.basename(file)))?.name).toBe('b')
      expect(problems).toEqual(['05-broken.conf'])
      write('11-c.conf', 'c')
      expect(loadConfiguration(directory)?.name).toBe('c')
    })

    test('that is not there is none', () => {
      expect(loadConfiguration(path.join(directory, 'missing'))).toBeUndefined()
    })
  })
})

describe('a result', () => {
  const result: CniResult = {
    cniVersion: '0.4.0',
    interfaces: [
      { name: 'cni0' },
      { name: 'eth0', sandbox: '/run/netns/a' },
      { name: 'eth1', sandbox: '/run/netns/a' },
    ],
    ips: [
      { version: '4', address: '10.0.0.2/24', interface: 1 },
      { version: '6', address: 'fd00::2/64', interface: 1 },
      { version: '4', address: '10.9.9.9/24', interface: 2 },
      { version: '4', address: '10.0.0.1/24', interface: 0 },
      { version: '4', address: '10.0.0.3/24' },
    ],
  }

  test('has the addresses of the pod', () => {
    expect(podAddresses(result, 'eth0')).toEqual(['10.0.0.2', 'fd00::2', '10.0.0.3'])
    expect(podAddresses({}, 'eth0')).toEqual([])
  })

  test.each([
    ['0.3.1', ['4', '6']],
    ['0.4.0', ['4', '6']],
    ['1.0.0', [undefined, undefined]],
    ['1.1.0', [undefined, undefined]],
  ])('is given to the next plugin as %s has it', (version, versions) => {
    const converted = inVersion({ ...result, ips: result.ips!.slice(0, 2) }, version)
    expect(converted.cniVersion).toBe(version)
    expect(converted.ips!.map((ip) => ip.version)).toEqual(versions)
  })
})

test.each<[string, Record<string, boolean> | undefined, Partial<PodSandbox>, object]>([
  ['nothing it did not ask for', undefined, { hostPorts: [{ protocol: 'TCP', hostPort: 1, containerPort: 2 }] }, {}],
  ['nothing where there is nothing', { portMappings: true, bandwidth: true }, {}, {}],
  [
    'ports',
    { portMappings: true },
    { hostPorts: [{ protocol: 'UDP', hostPort: 53, containerPort: 5353, hostIP: '1.2.3.4' }] },
    { portMappings: [{ protocol: 'udp', hostPort: 53, containerPort: 5353, hostIP: '1.2.3.4' }] },
  ],
  [
    'bandwidth',
    { bandwidth: true },
    { bandwidth: { egress: 1000 } },
    { bandwidth: { egressRate: 1000, egressBurst: 2 ** 31 - 1 } },
  ],
])('a plugin gets %s', (_what, capabilities, pod, expected) => {
  const sandbox = { namespace: 'default', name: 'a', uid: 'a', sandboxId: 'a', ...pod }
  expect(capabilityValues({ type: 'x', ...(capabilities && { capabilities }) }, sandbox)).toEqual(expected)
})
