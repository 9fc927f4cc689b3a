/**
 * A container's file system, made by its own agent in its own mount namespace: nothing of it is seen outside, and all of
 * it goes with the last process. Order matters: copies of the host's trees first, then the root changes, and only then is
 * a path of the image or of a volume followed.
 */
import path from 'node:path'
import type { CgroupMount } from '../../linux/cgroups.ts'
import {
  AT_FDCWD,
  attachTree,
  cloneTree,
  MNT_DETACH,
  MOUNT_ATTR,
  MOVE_MOUNT_F_EMPTY_PATH,
  MS,
  mapOwners,
  newMount,
  O,
  O_DIRECTORY,
  setMountAttributes,
} from '../../linux/mounts.ts'
import type { AgentChannel } from '../../linux/syscall-agent.ts'
import { errnoName } from '../../linux/system-error.ts'
import type { Mount } from '../container-config.ts'
import { RuntimeError } from '../runtime.ts'
import type { DeviceNode } from './devices.ts'
import { type ImageTree, imageTree } from './image-tree.ts'
import { mountTarget, ownFolder } from './mount-target.ts'
import { mapLayers, mapTree, type Owner } from './pod-users.ts'

const ENOENT = 2
const TTY_GROUP = 5
const S_IFREG = 0o100000
const SECURE_ATTRIBUTES = MOUNT_ATTR.NOSUID | MOUNT_ATTR.NODEV | MOUNT_ATTR.NOEXEC
const SECURE = MS.NOSUID | MS.NODEV | MS.NOEXEC

export interface RootFilesystem {
  /** Read-only folders, the topmost first. */
  readonly layers: readonly string[]
  readonly upper: string
  readonly work: string
  /** An empty folder of the host to mount on. */
  readonly root: string
  readonly volumes: readonly Volume[]
  /** What /dev/shm is. */
  readonly sharedMemory: string
  readonly devices: readonly DeviceNode[]
  readonly privileged: boolean
  readonly rootless: boolean
  readonly maskedPaths: readonly string[]
  readonly readonlyPaths: readonly string[]
  readonly users?: PodUsers
}

/** The pod has users of its own. */
export interface PodUsers {
  /** A descriptor of the agent. */
  readonly namespace: number
  readonly root: Owner
  /** Empty folders, one for each layer. */
  readonly lower: string
}

export interface Volume extends Mount {
  readonly kind: 'file' | 'folder'
  /** What everybody can read stays of use with owners that the pod does not know. */
  readonly isOfImage?: boolean
  /** Of an image that is the volume. */
  readonly tree?: ImageTree
}

/** What was taken from the host before its file system went out of sight. */
interface Trees {
  readonly layers: readonly number[]
  readonly upper: number
  readonly work: number
  readonly volumes: readonly number[]
  readonly sharedMemory: number
  readonly devices: readonly number[]
  readonly proc: number
  readonly sys: number
}

export async function enterRootFilesystem(agent: AgentChannel, root: RootFilesystem): Promise<void> {
  const trees = await takeTrees(agent, root)
  await changeRoot(agent, root, trees)
  await Promise.all(['/proc', '/dev', '/sys'].map((folder) => ownFolder(agent, folder)))
  await mountDev(agent, root, trees)
  await Promise.all([
    attachByPath(agent, trees.proc, '/proc'),
    attachByPath(agent, trees.sys, '/sys'),
    maskPaths(agent, root),
    protectPaths(agent, root),
  ])
  await attachVolumes(agent, root, trees.volumes)
}

async function takeTrees(agent: AgentChannel, root: RootFilesystem): Promise<Trees> {
  const open = (folder: string) => agent.call('openat', [AT_FDCWD, folder, O.PATH | O.CLOEXEC | O_DIRECTORY, 0])
  const shared = new Map<Volume, Promise<number>>()
  // A tree that shares its mounts with the host must be copied before the rest stops sharing.
  for (const volume of root.volumes)
    if (volume.propagation === 'BIDIRECTIONAL') shared.set(volume, cloneTree(agent, volume.hostPath))
  const slave = agent.call('mount', [null, '/', null, MS.REC | MS.SLAVE, null])
  const volumes = root.volumes.map((volume) => {
    if (volume.tree) return imageTree(agent, volume.tree, root.rootless)
    return shared.get(volume) ?? cloneTree(agent, volume.hostPath)
  })
  const all = await Promise.all([
    slave,
    Promise.all(root.layers.map(open)),
    open(root.upper),
    open(root.work),
    Promise.all(volumes),
    cloneTree(agent, root.sharedMemory),
    Promise.all(root.devices.map(({ source }) => cloneTree(agent, source, false))),
    // In a user namespace the kernel makes these only where it sees others of their kind, so before the root changes.
    newMount(agent, 'proc', SECURE_ATTRIBUTES),
    newMount(agent, 'sysfs', SECURE_ATTRIBUTES | (root.privileged ? 0 : MOUNT_ATTR.RDONLY)),
  ])
  await Promise.all(root.volumes.map((volume, i) => setMountAttributes(agent, all[4][i]!, attributesOf(volume, root))))
  if (root.users) await mapVolumes(agent, root.users, root.volumes, all[4])
  const [, plain, upper, work, taken, sharedMemory, devices, proc, sys] = all
  const layers = root.users ? await mappedLayers(agent, root.users, root.layers) : plain
  return { layers, upper, work, volumes: taken, sharedMemory, devices, proc, sys }
}

async function mappedLayers(agent: AgentChannel, users: PodUsers, layers: readonly string[]): Promise<number[]> {
  const folders = await mapLayers(agent, layers, users.lower, users.namespace)
  return Promise.all(
    folders.map((folder) => agent.call('openat', [AT_FDCWD, folder, O.PATH | O.CLOEXEC | O_DIRECTORY, 0])),
  )
}

async function mapVolumes(
  agent: AgentChannel,
  { namespace }: PodUsers,
  volumes: readonly Volume[],
  trees: readonly number[],
): Promise<void> {
  for (const [i, { hostPath, isOfImage }] of volumes.entries()) {
    if (isOfImage) await mapOwners(agent, trees[i]!, namespace)
    else await mapTree(agent, trees[i]!, namespace, hostPath)
  }
}

const PROPAGATION = { PRIVATE: MS.PRIVATE, HOST_TO_CONTAINER: MS.SLAVE, BIDIRECTIONAL: MS.SHARED } as const

function attributesOf(volume: Volume, root: RootFilesystem) {
  const recursive = !volume.readonly || volume.recursiveReadonly === true
  const set = (volume.readonly ? MOUNT_ATTR.RDONLY : 0) | (root.privileged ? 0 : MOUNT_ATTR.NODEV)
  if (volume.tree) return { set: SECURE_ATTRIBUTES | MOUNT_ATTR.RDONLY, propagation: MS.PRIVATE, recursive: true }
  return { set, propagation: PROPAGATION[volume.propagation], recursive }
}

/** Device nodes work nowhere but where we bind them: what a container makes with mknod is inert. */
async function changeRoot(agent: AgentChannel, root: RootFilesystem, trees: Trees): Promise<void> {
  const at = (descriptor: number) => `/proc/self/fd/${descriptor}`
  const options = [
    `lowerdir=${trees.layers.map(at).join(':')}`,
    `upperdir=${at(trees.upper)}`,
    `workdir=${at(trees.work)}`,
    // Without it, unmounting waits for the disk.
    'volatile',
    ...(root.rootless ? ['userxattr'] : []),
  ]
  await Promise.all([
    agent.call('mount', ['overlay', root.root, 'overlay', root.privileged ? 0 : MS.NODEV, options.join(',')]),
    agent.call('chdir', [root.root]),
    agent.call('pivot_root', ['.', '.']),
    agent.call('umount2', ['.', MNT_DETACH]),
    agent.call('chdir', ['/']),
  ])
}

async function mountDev(agent: AgentChannel, root: RootFilesystem, trees: Trees): Promise<void> {
  const owner = root.users?.root ?? { uid: 0, gid: 0 }
  const ptyGroup = root.rootless ? '' : `,gid=${owner.gid + TTY_GROUP}`
  const ownedBy = root.users ? `,uid=${owner.uid},gid=${owner.gid}` : ''
  const flags = MS.NOSUID | MS.STRICTATIME | MS.NODEV
  const ptyOptions = `newinstance,ptmxmode=0666,mode=0620${ptyGroup}`
  const steps: Promise<unknown>[] = [mount(agent, 'tmpfs', '/dev', 'tmpfs', flags, `mode=755,size=65536k${ownedBy}`)]
  for (const folder of ['pts', 'shm', 'mqueue']) steps.push(agent.call('mkdirat', [AT_FDCWD, `/dev/${folder}`, 0o755]))
  steps.push(mount(agent, 'devpts', '/dev/pts', 'devpts', MS.NOSUID | MS.NOEXEC, ptyOptions))
  steps.push(mount(agent, 'mqueue', '/dev/mqueue', 'mqueue', SECURE, ''))
  steps.push(attachByPath(agent, trees.sharedMemory, '/dev/shm'))
  for (const [target, link] of DEV_LINKS) steps.push(agent.call('symlinkat', [target, AT_FDCWD, link]))
  const elsewhere: Promise<unknown>[] = []
  for (const [i, { target }] of root.devices.entries()) {
    // Nobody has placed anything in the new /dev yet.
    if (path.posix.dirname(target) !== '/dev')
      elsewhere.push(attachAt(agent, trees.devices[i]!, target, 'file', root.users?.root))
    else {
      steps.push(agent.call('mknodat', [AT_FDCWD, target, S_IFREG | 0o666, 0]))
      steps.push(attachByPath(agent, trees.devices[i]!, target))
    }
  }
  await Promise.all([...steps, ...elsewhere])
}

const DEV_LINKS = [
  ['/proc/self/fd', '/dev/fd'],
  ['/proc/self/fd/0', '/dev/stdin'],
  ['/proc/self/fd/1', '/dev/stdout'],
  ['/proc/self/fd/2', '/dev/stderr'],
  ['/proc/kcore', '/dev/core'],
  ['pts/ptmx', '/dev/ptmx'],
] as const

function mount(
  agent: AgentChannel,
  source: string,
  target: string,
  type: string,
  flags: number,
  data: string,
): Promise<number> {
  return agent.call('mount', [source, target, type, flags, data || null])
}

const attachByPath = (agent: AgentChannel, tree: number, target: string) =>
  agent.call('move_mount', [tree, '', AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH])

async function attachAt(
  agent: AgentChannel,
  tree: number,
  target: string,
  kind: 'file' | 'folder',
  owner: Owner | undefined,
): Promise<void> {
  await attachTree(agent, tree, await mountTarget(agent, target, kind, owner))
}

/** A file takes /dev/null and no tmpfs, a folder a tmpfs and no file: one of the two holds, or the place is not there. */
async function maskPaths(agent: AgentChannel, { maskedPaths }: RootFilesystem): Promise<void> {
  const steps = maskedPaths.map(async (place) => {
    const [file, folder] = await Promise.all([
      agent.call('mount', ['/dev/null', place, null, MS.BIND, null], { soft: true }),
      agent.call('mount', ['tmpfs', place, 'tmpfs', MS.RDONLY, 'size=0k'], { soft: true }),
    ])
    if (file === 0 || folder === 0 || file === -ENOENT) return
    throw new RuntimeError('Internal', `cannot hide ${place}: ${errnoName(-file)}, ${errnoName(-folder)}`)
  })
  await Promise.all(steps)
}

async function protectPaths(agent: AgentChannel, { readonlyPaths }: RootFilesystem): Promise<void> {
  const flags = MS.REMOUNT | MS.BIND | MS.RDONLY | SECURE
  const steps = readonlyPaths.map(async (place) => {
    const [bound, remounted] = await Promise.all([
      agent.call('mount', [place, place, null, MS.BIND | MS.REC, null], { soft: true }),
      agent.call('mount', [null, place, null, flags, null], { soft: true }),
    ])
    if (bound === -ENOENT || (bound === 0 && remounted === 0)) return
    throw new RuntimeError('Internal', `cannot protect ${place}: ${errnoName(-bound)}, ${errnoName(-remounted)}`)
  })
  await Promise.all(steps)
}

/** Outer ones before those inside them. */
async function attachVolumes(
  agent: AgentChannel,
  { volumes, users }: RootFilesystem,
  trees: readonly number[],
): Promise<void> {
  const depth = (volume: Volume) => volume.containerPath.split('/').filter(Boolean).length
  const order = volumes.map((volume, i) => ({ volume, tree: trees[i]! }))
  order.sort((a, b) => depth(a.volume) - depth(b.volume))
  for (const { volume, tree } of order) await attachAt(agent, tree, volume.containerPath, volume.kind, users?.root)
}

/** After the agent has joined its cgroup and a cgroup namespace of its own: the container sees its group as the root. */
export async function mountCgroups(
  agent: AgentChannel,
  mounts: readonly CgroupMount[],
  writable: boolean,
): Promise<void> {
  const readonly = writable ? 0 : MS.RDONLY
  const steps: Promise<unknown>[] = []
  for (const { target, type, options } of mounts) {
    if (type === 'cgroup') steps.push(agent.call('mkdirat', [AT_FDCWD, target, 0o755], { soft: true }))
    const flags = type === 'tmpfs' ? SECURE : SECURE | readonly
    // The kernel may refuse a controller to a user namespace, or to all but the first.
    steps.push(agent.call('mount', [type, target, type, flags, options || null], { soft: true }))
  }
  if (mounts[0]?.type === 'tmpfs')
    steps.push(
      agent.call('mount', [null, mounts[0].target, null, MS.REMOUNT | SECURE | readonly, 'mode=755'], { soft: true }),
    )
  await Promise.all(steps)
}

export const remountReadonly = (agent: AgentChannel) =>
  agent.call('mount', [null, '/', null, MS.REMOUNT | MS.BIND | MS.RDONLY | MS.NODEV, null])
