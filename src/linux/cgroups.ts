/**
 * Control groups, v1 and v2 alike: limits, membership, figures, the end of all processes. A machine may lack a controller,
 * or forbid writing it (without root); then the limit is not enforced, and `create` and `update` say so.
 */
import { accessSync, constants, statfsSync } from 'node:fs'
import { posix } from 'node:path'
import type { DeviceRule } from './cgroups/device-rules.ts'
import { readText } from './cgroups/files.ts'
import { hierarchies, v1Cgroups, v1Controllers } from './cgroups/v1.ts'
import { v2Cgroups } from './cgroups/v2.ts'
import type { AgentChannel } from './syscall-agent.ts'

export { type DeviceRule, STANDARD_DEVICES } from './cgroups/device-rules.ts'

export interface CgroupLimits {
  readonly cpuShares?: number
  readonly cpuQuota?: number
  readonly cpuPeriod?: number
  readonly memoryLimitBytes?: number
  readonly memorySwapLimitBytes?: number
  readonly pidsLimit?: number
  readonly cpusetCpus?: string
  readonly hugepageLimits?: Readonly<Record<string, number>>
}

/** CPU in nanoseconds, memory in bytes. */
export interface CgroupStats {
  readonly cpuNanoseconds: number
  readonly memoryUsageBytes: number
  readonly memoryWorkingSetBytes: number
  readonly memoryRssBytes: number
  readonly pageFaults: number
  readonly majorPageFaults: number
  readonly processes: number
}

/** What a container sees at /sys/fs/cgroup. */
export interface CgroupMount {
  readonly target: string
  readonly type: 'tmpfs' | 'cgroup' | 'cgroup2'
  readonly options: string
}

/** Paths begin with a slash and are below the root that was given. */
export interface Cgroups {
  readonly version: 'v1' | 'v2'
  /** With all its parents. The names of the limits that are not enforced. */
  create(path: string, limits: CgroupLimits): Promise<readonly string[]>
  update(path: string, limits: CgroupLimits): readonly string[]
  join(path: string, pid: number): Promise<void>
  /** All that the processes of a group may do with devices, set by an agent of the node; false if it is not enforced. */
  allowDevices(path: string, rules: readonly DeviceRule[], agent: AgentChannel): Promise<boolean>
  /**
   * For the process that all containers descend from: moves it out of the root groups of those hierarchies in which
   * containers have no group. A container that can mount one would find its root's `release_agent` (CVE-2022-0492).
   */
  leaveRootGroups(pid: number): Promise<void>
  processes(path: string): readonly number[]
  /** SIGKILL to every process, those of groups below too. */
  kill(path: string): void
  /** How often the kernel killed a process of the group for want of memory. */
  oomKills(path: string): number
  stats(path: string): CgroupStats | undefined
  /** False if processes are still in it. */
  remove(path: string): Promise<boolean>
  readonly mounts: readonly CgroupMount[]
}

const CGROUP2_MAGIC = 0x63677270

export interface CgroupOptions {
  /** Where cgroups are mounted. */
  readonly mountpoint?: string
  /** All groups are below this one. */
  readonly root?: string
  readonly mountInfo?: string
  /** Others make groups below the root too, in hierarchies that are not used here: `remove` takes them as well. */
  readonly everyHierarchy?: boolean
}

export function openCgroups(options: CgroupOptions = {}): Cgroups {
  const { mountpoint = '/sys/fs/cgroup', root = '' } = options
  if (isUnified(mountpoint)) return v2Cgroups(mountpoint, root)
  const mountInfo = options.mountInfo ?? readText('/proc/self/mountinfo') ?? ''
  return v1Cgroups(v1Controllers(mountInfo), root, hierarchies(mountInfo), options.everyHierarchy)
}

export interface DelegationOptions {
  readonly mountpoint?: string
  /** What /proc/self/cgroup says. */
  readonly own?: string
}

/**
 * The group beside whose children this user may make others, as the slice of a session on a system with v2 alone. It is the
 * parent of the group that this process is in: one that has processes itself cannot have children with limits.
 */
export function delegatedCgroup(options: DelegationOptions = {}): string | undefined {
  const { mountpoint = '/sys/fs/cgroup', own = readText('/proc/self/cgroup') ?? '' } = options
  const path = /^0::(\/.+)\n?$/.exec(own)?.[1]
  if (path === undefined) return undefined
  const parent = posix.dirname(path)
  const needed = ['.', 'cgroup.procs', 'cgroup.subtree_control'].map((file) => posix.join(mountpoint, parent, file))
  return needed.every(isWritable) ? posix.join(parent, '.').replace(/\/$/, '') : undefined
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function isUnified(mountpoint: string): boolean {
  try {
    return statfsSync(mountpoint).type === CGROUP2_MAGIC
  } catch {
    return false
  }
}
