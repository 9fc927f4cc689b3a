import { writeFile } from 'node:fs/promises'
import type { CgroupLimits, CgroupMount, CgroupStats, Cgroups } from '../cgroups.ts'
import { ruleText } from './device-rules.ts'
import {
  childrenOf,
  killProcesses,
  makeDirectory,
  processesOf,
  readKeys,
  readNumber,
  readText,
  removeTree,
  write,
} from './files.ts'

/** Those that limit or count. */
const USED = ['cpu', 'cpuacct', 'memory', 'pids', 'hugetlb']
/** Groups only for those that ask for CPUs, or whose devices are limited. */
const ON_DEMAND = ['cpuset', 'devices']

/** The group of the agents, and of containers in the hierarchies where they have none of their own. */
const AGENTS = '/agents'

/** Where each controller is mounted. */
export function v1Controllers(mountInfo: string): ReadonlyMap<string, string> {
  const controllers = new Map<string, string>()
  for (const line of mountInfo.split('\n')) {
    const [mount, filesystem] = line.split(' - ')
    const [type, , options] = filesystem?.split(' ') ?? []
    const mountpoint = mount?.split(' ')[4]
    if (type !== 'cgroup' || !options || !mountpoint) continue
    for (const option of options.split(',')) {
      const isController = !option.startsWith('name=') && !['rw', 'ro', 'xattr', 'none'].includes(option)
      if (isController && !controllers.has(option)) controllers.set(option, mountpoint)
    }
  }
  return controllers
}

/** Every hierarchy, also those without a controller that counts here. */
export function hierarchies(mountInfo: string): string[] {
  const mounts = mountInfo.split('\n').map((line) => line.split(' - '))
  return mounts.flatMap(([mount, filesystem]) =>
    /^cgroup2? /.test(filesystem ?? '') ? (mount?.split(' ')[4] ?? []) : [],
  )
}

/** `removesAll`: `remove` takes groups of every hierarchy, because others make them there too. */
export function v1Cgroups(
  controllers: ReadonlyMap<string, string>,
  root: string,
  all: readonly string[] = [],
  removesAll = false,
): Cgroups {
  const directory = (controller: string, path: string) => {
    const mountpoint = controllers.get(controller)
    return mountpoint === undefined ? undefined : mountpoint + root + path
  }
  const directories = (path: string, names: readonly string[] = [...USED, ...ON_DEMAND]) => [
    ...new Set(names.flatMap((name) => directory(name, path) ?? [])),
  ]
  const file = (controller: string, path: string, name: string) => {
    const group = directory(controller, path)
    return group === undefined ? undefined : `${group}/${name}`
  }
  const first = ['pids', 'memory', 'cpu'].find((name) => controllers.has(name)) ?? 'memory'
  const set = (path: string, limits: CgroupLimits) =>
    limitsOf(limits, (controller, name, value) => writeIfThere(file(controller, path, name), value))
  return {
    version: 'v1',
    mounts: mountsOf(controllers),
    async create(path, limits) {
      await Promise.all(directories(path, USED).map(makeDirectory))
      if (limits.cpusetCpus) await makeCpuset(controllers.get('cpuset'), root + path)
      return set(path, limits)
    },
    update: set,
    async join(path, pid) {
      const groups = directories(path).filter((group) => readText(`${group}/cgroup.procs`) !== undefined)
      await Promise.all(groups.map((group) => writeFile(`${group}/cgroup.procs`, String(pid))))
    },
    async allowDevices(path, rules) {
      const group = directory('devices', path)
      if (group === undefined || !(await makeDirectory(group)) || !write(`${group}/devices.deny`, 'a')) return false
      return rules.every((rule) => write(`${group}/devices.allow`, ruleText(rule)))
    },
    async leaveRootGroups(pid) {
      const used = new Set(USED.map((name) => controllers.get(name)))
      for (const mountpoint of all.filter((one) => !used.has(one))) {
        if (!readText(`${mountpoint}/cgroup.procs`)?.split('\n').includes(String(pid))) continue
        if (mountpoint === controllers.get('cpuset')) await makeCpuset(mountpoint, root + AGENTS)
        else await makeDirectory(mountpoint + root + AGENTS)
        write(`${mountpoint}${root}${AGENTS}/cgroup.procs`, pid)
      }
    },
    processes: (path) => directories(path, [first]).flatMap(processesOf),
    kill: (path) => directories(path, [first]).forEach(killProcesses),
    oomKills: (path) => oomKillsOf(directory('memory', path)),
    stats: (path) => statsOf((controller, name) => file(controller, path, name)),
    async remove(path) {
      const others = removesAll ? all.map((mountpoint) => mountpoint + root + path) : []
      return (await Promise.all([...new Set([...directories(path), ...others])].map(removeTree))).every(Boolean)
    },
  }
}

const writeIfThere = (file: string | undefined, value: string | number) => file !== undefined && write(file, value)

/** The counter is not hierarchical here. */
function oomKillsOf(directory: string | undefined): number {
  if (directory === undefined) return 0
  const below = childrenOf(directory).reduce((sum, child) => sum + oomKillsOf(`${directory}/${child}`), 0)
  return below + (readKeys(`${directory}/memory.oom_control`).get('oom_kill') ?? 0)
}

/** A new cpuset is empty, and nobody can join an empty one. */
async function makeCpuset(mountpoint: string | undefined, path: string): Promise<void> {
  if (mountpoint === undefined) return
  let group = mountpoint
  for (const name of path.split('/').filter(Boolean)) {
    const parent = group
    group = `${group}/${name}`
    await makeDirectory(group)
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (!readText(`${group}/${file}`)?.trim()) write(`${group}/${file}`, readText(`${parent}/${file}`) ?? '')
    }
  }
}

type Write = (controller: string, file: string, value: string | number) => boolean

function limitsOf(limits: CgroupLimits, put: Write): string[] {
  const missing: string[] = []
  const limit = (name: string, done: boolean) => {
    if (!done) missing.push(name)
  }
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitBytes: memory, pidsLimit, cpusetCpus } = limits
  if (cpuShares) limit('cpuShares', put('cpu', 'cpu.shares', cpuShares))
  if (cpuPeriod) limit('cpuPeriod', put('cpu', 'cpu.cfs_period_us', cpuPeriod))
  if (cpuQuota) limit('cpuQuota', put('cpu', 'cpu.cfs_quota_us', cpuQuota))
  if (memory) limit('memoryLimitBytes', setMemory(put, memory, limits.memorySwapLimitBytes))
  if (pidsLimit) limit('pidsLimit', put('pids', 'pids.max', pidsLimit > 0 ? pidsLimit : 'max'))
  if (cpusetCpus) limit('cpusetCpus', put('cpuset', 'cpuset.cpus', cpusetCpus))
  for (const [size, bytes] of Object.entries(limits.hugepageLimits ?? {}))
    limit('hugepageLimits', put('hugetlb', `hugetlb.${size}.limit_in_bytes`, bytes))
  return missing
}

/** Memory with swap may never be below memory: which of the two comes first depends on the direction. */
function setMemory(put: Write, memory: number, withSwap: number | undefined): boolean {
  if (!withSwap) return put('memory', 'memory.limit_in_bytes', memory)
  const swap = () => put('memory', 'memory.memsw.limit_in_bytes', withSwap)
  if (put('memory', 'memory.limit_in_bytes', memory)) {
    swap()
    return true
  }
  return swap() && put('memory', 'memory.limit_in_bytes', memory)
}

function statsOf(file: (controller: string, name: string) => string | undefined): CgroupStats | undefined {
  const usage = readText(file('memory', 'memory.usage_in_bytes'))
  const cpu = readText(file('cpuacct', 'cpuacct.usage'))
  if (usage === undefined && cpu === undefined) return undefined
  const memory = readKeys(file('memory', 'memory.stat'))
  return {
    cpuNanoseconds: Number(cpu ?? 0),
    memoryUsageBytes: Number(usage ?? 0),
    memoryWorkingSetBytes: Math.max(0, Number(usage ?? 0) - (memory.get('total_inactive_file') ?? 0)),
    memoryRssBytes: memory.get('total_rss') ?? 0,
    pageFaults: memory.get('total_pgfault') ?? 0,
    majorPageFaults: memory.get('total_pgmajfault') ?? 0,
    processes: readNumber(file('pids', 'pids.current')),
  }
}

function mountsOf(controllers: ReadonlyMap<string, string>): CgroupMount[] {
  if (controllers.size === 0) return []
  const together = new Map<string, string[]>()
  for (const [controller, mountpoint] of controllers) {
    // In the others a container is in the node's own group, which is none of its business.
    if (!USED.includes(controller)) continue
    const group = together.get(mountpoint)
    if (group) group.push(controller)
    else together.set(mountpoint, [controller])
  }
  const mounts: CgroupMount[] = [{ target: '/sys/fs/cgroup', type: 'tmpfs', options: 'mode=755' }]
  for (const names of together.values())
    mounts.push({ target: `/sys/fs/cgroup/${names.join(',')}`, type: 'cgroup', options: names.join(',') })
  return mounts
}
