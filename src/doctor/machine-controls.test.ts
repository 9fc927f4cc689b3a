import { expect, it } from 'vitest'
import { examine } from './control.ts'
import type { MachineFacts } from './machine/facts.ts'
import { machineControls } from './machine-controls.ts'

const GOOD: MachineFacts = {
  platform: 'linux',
  kernel: '6.1.0-18-amd64',
  nodeVersion: 'v22.12.0',
  isRoot: false,
  cgroupVersion: 2,
  cgroupControllers: ['cpu', 'io', 'memory', 'pids'],
  namespaces: ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'time', 'user', 'uts'],
  userNamespaces: { most: 10_000, isForEveryone: true },
  fileSystems: ['ext4', 'overlay'],
  hasNftables: true,
  iptablesPath: '/usr/sbin/iptables-restore',
  freeMemoryBytes: 4e9,
  freeDiskBytes: 50e9,
  dataDir: { path: '/d', mode: 0o700, isOwn: true },
  apiPort: { number: 6443, isTaken: true },
  server: { pid: 1, readyStatus: 200 },
}

const verdictOf = (id: string, change: Partial<MachineFacts>) =>
  examine(machineControls, { ...GOOD, ...change }).results.find((result) => result.id === id)!.verdict

it('passes a good machine', () => {
  expect(examine(machineControls, GOOD).counts).toEqual({
    pass: machineControls.length,
    fail: 0,
    warn: 0,
    'not applicable': 0,
  })
})

it.each<[string, Partial<MachineFacts>, string]>([
  ['node', { nodeVersion: 'v20.18.0' }, 'fail'],
  ['node', { nodeVersion: 'v20.19.1' }, 'pass'],
  ['node', { nodeVersion: 'v23.1.0' }, 'fail'],
  ['platform', { platform: 'darwin' }, 'warn'],
  ['kernel', { kernel: '4.19.0' }, 'warn'],
  ['kernel', { kernel: '5.10.0' }, 'pass'],
  ['kernel', { platform: 'darwin' }, 'not applicable'],
  ['namespaces', { namespaces: ['net', 'mnt'] }, 'fail'],
  ['user-namespaces', { userNamespaces: { most: 0, isForEveryone: true } }, 'fail'],
  ['user-namespaces', { userNamespaces: { most: 9, isForEveryone: false } }, 'fail'],
  ['user-namespaces', { userNamespaces: { most: 0, isForEveryone: false }, isRoot: true }, 'pass'],
  ['cgroups', { cgroupVersion: undefined, cgroupControllers: [] }, 'warn'],
  ['cgroups', { cgroupControllers: ['cpu'] }, 'warn'],
  ['overlay', { fileSystems: ['ext4'] }, 'fail'],
  ['nftables', { hasNftables: false }, 'fail'],
  ['nftables', { hasNftables: undefined }, 'warn'],
  ['iptables', { iptablesPath: undefined }, 'warn'],
  ['disk', { freeDiskBytes: 1e9 }, 'fail'],
  ['memory', { freeMemoryBytes: 1e8 }, 'warn'],
  ['data-directory', { dataDir: undefined }, 'not applicable'],
  ['data-directory', { dataDir: { path: '/d', mode: 0o755, isOwn: true } }, 'fail'],
  ['data-directory', { dataDir: { path: '/d', mode: 0o700, isOwn: false } }, 'fail'],
  ['api-port', { server: undefined }, 'fail'],
  ['api-port', { server: undefined, apiPort: { number: 6443, isTaken: false } }, 'pass'],
  ['server', { server: { pid: 1, readyStatus: 0 } }, 'fail'],
  ['server', { server: undefined }, 'not applicable'],
])('%s of %j: %s', (id, change, verdict) => {
  expect(verdictOf(id, change)).toBe(verdict)
})
