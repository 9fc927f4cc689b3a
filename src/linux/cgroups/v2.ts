import { writeFile } from 'node:fs/promises'
import type { CgroupLimits, CgroupStats, Cgroups } from '../cgroups.ts'
import { attachDeviceProgram, deviceProgram } from './device-program.ts'
import {
  killProcesses,
  makeDirectory,
  processesOf,
  readKeys,
  readNumber,
  readText,
  removeTree,
  write,
} from './files.ts'

const CONTROLLERS = ['cpu', 'memory', 'pids', 'cpuset', 'hugetlb', 'io']

export function v2Cgroups(mountpoint: string, root: string): Cgroups {
  const directory = (path: string) => mountpoint + root + path
  const set = (path: string, limits: CgroupLimits) =>
    limitsOf(limits, (file, value) => write(`${directory(path)}/${file}`, value))
  return {
    version: 'v2',
    mounts: [{ target: '/sys/fs/cgroup', type: 'cgroup2', options: '' }],
    async create(path, limits) {
      await makeWithControllers(mountpoint, root + path)
      // The kubelet's choice: when one process of a container is killed for memory, all are.
      write(`${directory(path)}/memory.oom.group`, 1)
      return set(path, limits)
    },
    update: set,
    async join(path, pid) {
      if (readText(`${directory(path)}/cgroup.procs`) === undefined) return
      await writeFile(`${directory(path)}/cgroup.procs`, String(pid))
    },
    allowDevices: (path, rules, agent) => attachDeviceProgram(agent, directory(path), deviceProgram(rules)),
    // The group of a container is the root of all that it can mount.
    async leaveRootGroups() {},
    processes: (path) => processesOf(directory(path)),
    kill(path) {
      if (!write(`${directory(path)}/cgroup.kill`, 1)) killProcesses(directory(path))
    },
    oomKills: (path) => readKeys(`${directory(path)}/memory.events`).get('oom_kill') ?? 0,
    stats: (path) => statsOf(directory(path)),
    remove: (path) => removeTree(directory(path)),
  }
}

/** A group has the controllers that its parent passes on. */
async function makeWithControllers(mountpoint: string, path: string): Promise<void> {
  let group = mountpoint
  for (const name of path.split('/').filter(Boolean)) {
    const enabled = readText(`${group}/cgroup.subtree_control`)?.trim().split(' ') ?? []
    const available = readText(`${group}/cgroup.controllers`)?.trim().split(' ') ?? []
    for (const controller of CONTROLLERS) {
      if (available.includes(controller) && !enabled.includes(controller))
        write(`${group}/cgroup.subtree_control`, `+${controller}`)
    }
    group = `${group}/${name}`
    await makeDirectory(group)
  }
}

function limitsOf(limits: CgroupLimits, put: (file: string, value: string | number) => boolean): string[] {
  const missing: string[] = []
  const limit = (name: string, done: boolean) => {
    if (!done) missing.push(name)
  }
  const { cpuShares, cpuQuota, cpuPeriod = 100_000, memoryLimitBytes: memory, pidsLimit, cpusetCpus } = limits
  if (cpuShares) limit('cpuShares', put('cpu.weight', weightOf(cpuShares)))
  if (cpuQuota) limit('cpuQuota', put('cpu.max', `${cpuQuota > 0 ? cpuQuota : 'max'} ${cpuPeriod}`))
  if (memory) limit('memoryLimitBytes', put('memory.max', memory))
  if (memory && limits.memorySwapLimitBytes) put('memory.swap.max', Math.max(0, limits.memorySwapLimitBytes - memory))
  if (pidsLimit) limit('pidsLimit', put('pids.max', pidsLimit > 0 ? pidsLimit : 'max'))
  if (cpusetCpus) limit('cpusetCpus', put('cpuset.cpus', cpusetCpus))
  for (const [size, bytes] of Object.entries(limits.hugepageLimits ?? {}))
    limit('hugepageLimits', put(`hugetlb.${size}.max`, bytes))
  return missing
}

/** Shares of 2 to 262144 become weights of 1 to 10000. */
export const weightOf = (shares: number) =>
  Math.max(1, Math.min(10_000, Math.floor(1 + ((shares - 2) * 9999) / 262_142)))

function statsOf(directory: string): CgroupStats | undefined {
  const cpu = readKeys(`${directory}/cpu.stat`)
  if (cpu.size === 0 && readText(`${directory}/cgroup.procs`) === undefined) return undefined
  const memory = readKeys(`${directory}/memory.stat`)
  const usage = readNumber(`${directory}/memory.current`)
  return {
    cpuNanoseconds: (cpu.get('usage_usec') ?? 0) * 1000,
    memoryUsageBytes: usage,
    memoryWorkingSetBytes: Math.max(0, usage - (memory.get('inactive_file') ?? 0)),
    memoryRssBytes: memory.get('anon') ?? 0,
    pageFaults: memory.get('pgfault') ?? 0,
    majorPageFaults: memory.get('pgmajfault') ?? 0,
    processes: readNumber(`${directory}/pids.current`),
  }
}
