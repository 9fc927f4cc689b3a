/**
 * /proc, /dev and /sys of a container, by descriptor and before the first volume is attached: until then only the image
 * could mislead a path, and nothing changes it.
 */
import path from 'node:path'
import type { CgroupMount } from '../../linux/cgroups.ts'
import { AT_FDCWD, attachTree, attachTreeAt, cloneTree, MOUNT_ATTR, MS, newMount } from '../../linux/mounts.ts'
import type { AgentChannel } from '../../linux/syscall-agent.ts'
import { errnoName } from '../../linux/system-error.ts'
import { RuntimeError } from '../runtime.ts'
import type { DeviceNode } from './devices.ts'
import { mountTarget, ownFolder } from './mount-target.ts'
import type { Owner } from './pod-users.ts'

const ENOENT = 2
const TTY_GROUP = 5
const S_IFREG = 0o100000
export const SECURE_ATTRIBUTES = MOUNT_ATTR.NOSUID | MOUNT_ATTR.NODEV | MOUNT_ATTR.NOEXEC
const SECURE = MS.NOSUID | MS.NODEV | MS.NOEXEC

export interface KernelFilesystems {
  /** Where the /proc of a shared PID namespace is mounted; without it that of the agent's own namespace. */
  readonly sharedProc?: string
  /** What /dev/shm is. */
  readonly sharedMemory: string
  readonly devices: readonly DeviceNode[]
  readonly privileged: boolean
  readonly rootless: boolean
  readonly maskedPaths: readonly string[]
  readonly readonlyPaths: readonly string[]
  /** The root user of a pod with its own users. */
  readonly owner: Owner | undefined
}

/** Descriptors of file systems that are mounted nowhere yet. */
export interface KernelTrees {
  readonly proc: number
  readonly sys: number
  readonly dev: number
  readonly pts: number
  readonly mqueue: number
  readonly sharedMemory: number
  readonly devices: readonly number[]
}

/** In a user namespace the kernel makes /proc and /sys only where it sees others of their kind: before the root changes. */
export async function takeKernelTrees(agent: AgentChannel, wanted: KernelFilesystems): Promise<KernelTrees> {
  const { owner, sharedProc } = wanted
  const ownedBy = owner && { uid: String(owner.uid), gid: String(owner.gid) }
  const terminalGroup = !wanted.rootless && { gid: String((owner?.gid ?? 0) + TTY_GROUP) }
  const [proc, sys, dev, pts, mqueue, sharedMemory, devices] = await Promise.all([
    sharedProc === undefined ? newMount(agent, 'proc', SECURE_ATTRIBUTES) : cloneTree(agent, sharedProc, false),
    newMount(agent, 'sysfs', SECURE_ATTRIBUTES | (wanted.privileged ? 0 : MOUNT_ATTR.RDONLY)),
    newMount(agent, 'tmpfs', MOUNT_ATTR.NOSUID | MOUNT_ATTR.NODEV | MOUNT_ATTR.STRICTATIME, {
      mode: '755',
      size: '65536k',
      ...ownedBy,
    }),
    newMount(agent, 'devpts', MOUNT_ATTR.NOSUID | MOUNT_ATTR.NOEXEC, {
      ptmxmode: '0666',
      mode: '0620',
      ...terminalGroup,
    }),
    newMount(agent, 'mqueue', SECURE_ATTRIBUTES),
    cloneTree(agent, wanted.sharedMemory),
    Promise.all(wanted.devices.map(({ source }) => cloneTree(agent, source, false))),
  ])
  return { proc, sys, dev, pts, mqueue, sharedMemory, devices }
}

/** The folders they go to, as descriptors. */
export const kernelPlaces = (agent: AgentChannel) =>
  Promise.all(['/proc', '/dev', '/sys'].map((folder) => ownFolder(agent, folder)))

export async function attachKernelTrees(
  agent: AgentChannel,
  wanted: KernelFilesystems,
  trees: KernelTrees,
  [proc, dev, sys]: readonly number[],
): Promise<void> {
  await Promise.all([
    attachTree(agent, trees.dev, dev!),
    ...fillDev(agent, wanted, trees),
    attachTree(agent, trees.proc, proc!),
    attachTree(agent, trees.sys, sys!),
    ...restrict(agent, '/proc/', trees.proc, wanted),
    ...restrict(agent, '/sys/', trees.sys, wanted),
    agent.call('chdir', ['/']),
  ])
  for (const [i, { target }] of wanted.devices.entries())
    if (!isInDev(target))
      await attachTree(agent, trees.devices[i]!, await mountTarget(agent, target, 'file', wanted.owner))
}

const DEV_LINKS = [
  ['/proc/self/fd', 'fd'],
  ['/proc/self/fd/0', 'stdin'],
  ['/proc/self/fd/1', 'stdout'],
  ['/proc/self/fd/2', 'stderr'],
  ['/proc/kcore', 'core'],
  ['pts/ptmx', 'ptmx'],
] as const

const isInDev = (target: string) => path.posix.dirname(target) === '/dev'

function fillDev(agent: AgentChannel, { devices }: KernelFilesystems, trees: KernelTrees): Promise<number>[] {
  const { dev } = trees
  const steps: Promise<number>[] = []
  const filesystems = { pts: trees.pts, mqueue: trees.mqueue, shm: trees.sharedMemory }
  for (const [name, tree] of Object.entries(filesystems))
    steps.push(agent.call('mkdirat', [dev, name, 0o755]), attachTreeAt(agent, tree, dev, name))
  for (const [target, link] of DEV_LINKS) steps.push(agent.call('symlinkat', [target, dev, link]))
  for (const [i, { target }] of devices.entries()) {
    if (!isInDev(target)) continue
    const name = path.posix.basename(target)
    steps.push(agent.call('mknodat', [dev, name, S_IFREG | 0o666, 0]))
    steps.push(attachTreeAt(agent, trees.devices[i]!, dev, name))
  }
  return steps
}

/** Hides and protects what is below `prefix`, the place of this tree. Links of /proc and /sys are the kernel's own. */
function restrict(
  agent: AgentChannel,
  prefix: string,
  tree: number,
  { maskedPaths, readonlyPaths }: KernelFilesystems,
): Promise<unknown>[] {
  const below = (places: readonly string[]) =>
    places.filter((place) => place.startsWith(prefix)).map((place) => place.slice(prefix.length))
  return [
    agent.call('fchdir', [tree]),
    ...below(maskedPaths).map((name) => hide(agent, name)),
    ...below(readonlyPaths).map((name) => protect(agent, name)),
  ]
}

/** Paths outside of /proc and /sys could lead anywhere. */
export function checkRestrictedPaths(places: readonly string[]): void {
  const wrong = places.find((place) => !/^\/(proc|sys)\//.test(place) || path.posix.normalize(place) !== place)
  if (wrong !== undefined)
    throw new RuntimeError('InvalidArgument', `cannot hide or protect "${wrong}": it is not a path below /proc or /sys`)
}

/** A file takes /dev/null and no tmpfs, a folder a tmpfs and no file: one of the two holds, or the place is not there. */
async function hide(agent: AgentChannel, name: string): Promise<void> {
  const [file, folder] = await Promise.all([
    agent.call('mount', ['/dev/null', name, null, MS.BIND, null], { soft: true }),
    agent.call('mount', ['tmpfs', name, 'tmpfs', MS.RDONLY, 'size=0k'], { soft: true }),
  ])
  if (file === 0 || folder === 0 || file === -ENOENT) return
  throw new RuntimeError('Internal', `cannot hide ${name}: ${errnoName(-file)}, ${errnoName(-folder)}`)
}

async function protect(agent: AgentChannel, name: string): Promise<void> {
  const flags = MS.REMOUNT | MS.BIND | MS.RDONLY | SECURE
  const [bound, remounted] = await Promise.all([
    agent.call('mount', [name, name, null, MS.BIND | MS.REC, null], { soft: true }),
    agent.call('mount', [null, name, null, flags, null], { soft: true }),
  ])
  if (bound === -ENOENT || (bound === 0 && remounted === 0)) return
  throw new RuntimeError('Internal', `cannot protect ${name}: ${errnoName(-bound)}, ${errnoName(-remounted)}`)
}

/** After the agent has joined its cgroup and a cgroup namespace of its own: the container sees its group as the root. */
export async function mountCgroups(
  agent: AgentChannel,
  sys: number,
  mounts: readonly CgroupMount[],
  writable: boolean,
): Promise<void> {
  const readonly = writable ? 0 : MS.RDONLY
  const steps: Promise<unknown>[] = [agent.call('fchdir', [sys])]
  // The kernel may refuse a controller to a user namespace, or to all but the first.
  const mount = (source: string | null, target: string, type: string | null, flags: number, options: string) =>
    steps.push(agent.call('mount', [source, target, type, flags, options || null], { soft: true }))
  for (const { target, type, options } of mounts) {
    const name = target.slice('/sys/'.length)
    if (type === 'cgroup') steps.push(agent.call('mkdirat', [AT_FDCWD, name, 0o755], { soft: true }))
    mount(type, name, type, type === 'tmpfs' ? SECURE : SECURE | readonly, options)
  }
  const [first] = mounts
  if (first?.type === 'tmpfs')
    mount(null, first.target.slice('/sys/'.length), null, MS.REMOUNT | SECURE | readonly, 'mode=755')
  steps.push(agent.call('chdir', ['/']))
  await Promise.all(steps)
}
