/** Which files are written, on folders that stand for cgroup file systems. What the kernel does with them: tests/container-runtime. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { v1Cgroups, v1Controllers } from './cgroups/v1.ts'
import { v2Cgroups, weightOf } from './cgroups/v2.ts'
import { type CgroupLimits, delegatedCgroup, STANDARD_DEVICES } from './cgroups.ts'
import type { AgentChannel } from './syscall-agent.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'sampan-cgroups-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const LIMITS: CgroupLimits = {
  cpuShares: 1024,
  cpuQuota: 50_000,
  cpuPeriod: 100_000,
  memoryLimitBytes: 1 << 20,
  pidsLimit: 10,
}
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

test('v2: limits of a group, with the names of the kernel', async () => {
  writeFileSync(path.join(root, 'cgroup.controllers'), 'cpu memory pids')
  expect(await v2Cgroups(root, '/s').create('/a/b', LIMITS)).toEqual([])
  expect(['cpu.weight', 'cpu.max', 'memory.max', 'pids.max'].map((file) => read(`s/a/b/${file}`))).toEqual([
    '39',
    '50000 100000',
    '1048576',
    '10',
  ])
})

const v1 = (names: readonly string[]) => {
  for (const name of names) mkdirSync(path.join(root, name), { recursive: true })
  return v1Cgroups(new Map(names.map((name) => [name, path.join(root, name)])), '')
}

test('v1: a folder and files for each controller', async () => {
  expect(await v1(['cpu', 'memory', 'pids']).create('/a', LIMITS)).toEqual([])
  expect(read('cpu/a/cpu.shares')).toBe('1024')
  expect(read('cpu/a/cpu.cfs_quota_us')).toBe('50000')
  expect(read('memory/a/memory.limit_in_bytes')).toBe('1048576')
  expect(read('pids/a/pids.max')).toBe('10')
})

test('v1: devices are denied, then some are allowed', async () => {
  const agent = undefined as unknown as AgentChannel
  expect(await v1(['devices']).allowDevices('/a', STANDARD_DEVICES, agent)).toBe(true)
  expect([read('devices/a/devices.deny'), read('devices/a/devices.allow')]).toEqual(['a', 'c 136:* rwm'])
  expect(await v1(['cpu']).allowDevices('/a', STANDARD_DEVICES, agent)).toBe(false)
})

test('v1: a process leaves the root groups of hierarchies that limit nothing', async () => {
  const groups = { cpu: '7\n8\n', freezer: '7\n8\n', blkio: '77\n', cpuset: '8\n' }
  const at = (name: string) => path.join(root, name)
  const controllers = new Map(Object.keys(groups).map((name) => [name, at(name)]))
  for (const [name, processes] of Object.entries(groups)) {
    mkdirSync(at(name))
    writeFileSync(at(`${name}/cgroup.procs`), processes)
  }
  writeFileSync(at('cpuset/cpuset.cpus'), '0-1')
  await v1Cgroups(controllers, '/s', [...controllers.values()]).leaveRootGroups(8)
  expect([read('freezer/s/agents/cgroup.procs'), read('cpuset/s/agents/cgroup.procs')]).toEqual(['8', '8'])
  expect(read('cpuset/s/agents/cpuset.cpus')).toBe('0-1')
  expect(['cpu/s', 'blkio/s'].map((group) => existsSync(at(group)))).toEqual([false, false])
})

test('v1: a controller that is not there is named', async () => {
  expect(await v1(['cpu']).create('/a', LIMITS)).toEqual(['memoryLimitBytes', 'pidsLimit'])
  expect(await v1Cgroups(new Map(), '').create('/a', { memoryLimitBytes: 1 })).toEqual(['memoryLimitBytes'])
})

test.each([
  [2, 1],
  [102, 4],
  [1024, 39],
  [262_144, 10_000],
])('%i shares are a weight of %i', (shares, weight) => {
  expect(weightOf(shares)).toBe(weight)
})

test('v1: where controllers are mounted', () => {
  const line = (mountpoint: string, type: string, options: string) =>
    `30 25 0:26 / ${mountpoint} rw,nosuid shared:9 - ${type} ${type} ${options}`
  const mountInfo = [
    line('/sys/fs/cgroup/cpu,cpuacct', 'cgroup', 'rw,cpu,cpuacct'),
    line('/sys/fs/cgroup/systemd', 'cgroup', 'rw,xattr,name=systemd'),
    line('/sys/fs/cgroup/unified', 'cgroup2', 'rw'),
    line('/', 'ext4', 'rw'),
  ].join('\n')
  expect([...v1Controllers(mountInfo)]).toEqual([
    ['cpu', '/sys/fs/cgroup/cpu,cpuacct'],
    ['cpuacct', '/sys/fs/cgroup/cpu,cpuacct'],
  ])
})

test('v2: figures', () => {
  const write = (name: string, text: string) => writeFileSync(path.join(root, name), text)
  write('cpu.stat', 'usage_usec 5\nuser_usec 3\n')
  write('memory.stat', 'anon 100\ninactive_file 300\npgfault 7\npgmajfault 1\n')
  write('memory.current', '1000\n')
  write('pids.current', '3\n')
  write('memory.events', 'low 0\noom_kill 2\n')
  const cgroups = v2Cgroups(root, '')
  expect(cgroups.stats('')).toEqual({
    cpuNanoseconds: 5000,
    memoryUsageBytes: 1000,
    memoryWorkingSetBytes: 700,
    memoryRssBytes: 100,
    pageFaults: 7,
    majorPageFaults: 1,
    processes: 3,
  })
  expect(cgroups.oomKills('')).toBe(2)
  expect(cgroups.stats('/gone')).toBeUndefined()
})

describe('where a plain user may make groups', () => {
  const withFiles = (folder: string, ...files: string[]) => {
    mkdirSync(path.join(root, folder), { recursive: true })
    for (const file of files) writeFileSync(path.join(root, folder, file), '')
  }

  test.each([
    ['beside the group of the process', '0::/user.slice/session.scope\n', '/user.slice'],
    ['deeper', '0::/user.slice/app.slice/shell.scope\n', undefined],
    ['with other hierarchies nowhere', '4:memory:/\n0::/user.slice/session.scope\n', undefined],
    ['in the root of all nowhere', '0::/\n', undefined],
    ['if nothing is known nowhere', '', undefined],
  ])('%s', (_what, own, expected) => {
    withFiles('user.slice', 'cgroup.procs', 'cgroup.subtree_control')
    withFiles('user.slice/app.slice', 'cgroup.procs')
    expect(delegatedCgroup({ mountpoint: root, own })).toBe(expected)
  })
})
