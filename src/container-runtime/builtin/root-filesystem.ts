/**
 * A container's file system, made by its own agent in its own mount namespace: nothing of it is seen outside, and all of
 * it goes with the last process. Order matters: copies of the host's trees first, then the root changes and every
 * descriptor of a folder of the host is closed, and only then is a path of the image or of a volume followed.
 */
import {
  AT_FDCWD,
  attachTree,
  cloneTree,
  closeAllBut,
  MNT_DETACH,
  MOUNT_ATTR,
  MS,
  mapOwners,
  O,
  O_DIRECTORY,
  setMountAttributes,
} from '../../linux/mounts.ts'
import type { AgentChannel } from '../../linux/syscall-agent.ts'
import type { Mount } from '../container-config.ts'
import { type ImageTree, imageTree } from './image-tree.ts'
import {
  attachKernelTrees,
  type KernelFilesystems,
  type KernelTrees,
  kernelPlaces,
  SECURE_ATTRIBUTES,
  takeKernelTrees,
} from './kernel-filesystems.ts'
import { mountTarget } from './mount-target.ts'
import { mapLayers, mapTree, type Owner } from './pod-users.ts'

export interface RootFilesystem extends KernelFilesystems {
  /** Read-only folders, the topmost first. */
  readonly layers: readonly string[]
  readonly upper: string
  readonly work: string
  /** An empty folder of the host to mount on. */
  readonly root: string
  readonly volumes: readonly Volume[]
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

/** What was taken from the host before its file system went out of sight: none of it leads to another folder there. */
export interface Trees {
  readonly kernel: KernelTrees
  readonly volumes: readonly number[]
}

/** The image's root with the kernel's file systems; volumes are not attached yet. `kept` are descriptors that stay open. */
export async function enterRootFilesystem(
  agent: AgentChannel,
  root: RootFilesystem,
  kept: readonly number[],
): Promise<Trees> {
  const [volumes, kernel, folders] = await Promise.all([
    takeVolumes(agent, root),
    takeKernelTrees(agent, root),
    openFolders(agent, root),
  ])
  const places = await Promise.all([
    changeRoot(agent, root, folders),
    closeAllBut(agent, ...kept, ...volumes, ...Object.values(kernel).flat()),
    kernelPlaces(agent),
  ])
  await attachKernelTrees(agent, root, kernel, places[2])
  return { volumes, kernel }
}

async function takeVolumes(agent: AgentChannel, root: RootFilesystem): Promise<number[]> {
  const shared = new Map<Volume, Promise<number>>()
  // A tree that shares its mounts with the host must be copied before the rest stops sharing.
  for (const volume of root.volumes)
    if (volume.propagation === 'BIDIRECTIONAL') shared.set(volume, cloneTree(agent, volume.hostPath))
  const slave = agent.call('mount', [null, '/', null, MS.REC | MS.SLAVE, null])
  const trees = await Promise.all(
    root.volumes.map((volume) => {
      if (volume.tree) return imageTree(agent, volume.tree, root.rootless)
      return shared.get(volume) ?? cloneTree(agent, volume.hostPath)
    }),
  )
  const attributes = root.volumes.map((volume, i) => setMountAttributes(agent, trees[i]!, attributesOf(volume, root)))
  await Promise.all([slave, ...attributes])
  if (root.users) await mapVolumes(agent, root.users, root.volumes, trees)
  return trees
}

/** Descriptors of the folders of the host that the overlay is made of. */
interface Folders {
  readonly layers: readonly number[]
  readonly upper: number
  readonly work: number
}

async function openFolders(agent: AgentChannel, root: RootFilesystem): Promise<Folders> {
  const open = (folder: string) => agent.call('openat', [AT_FDCWD, folder, O.PATH | O.CLOEXEC | O_DIRECTORY, 0])
  const { users } = root
  const layers = users ? await mapLayers(agent, root.layers, users.lower, users.namespace) : root.layers
  const [upper, work, ...opened] = await Promise.all([root.upper, root.work, ...layers].map(open))
  return { layers: opened, upper: upper!, work: work! }
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

/** `nodev`: a device file that the image has or the container makes is inert, whatever cgroups can enforce. */
function changeRoot(agent: AgentChannel, root: RootFilesystem, folders: Folders): Promise<unknown> {
  const at = (descriptor: number) => `/proc/self/fd/${descriptor}`
  const options = [
    `lowerdir=${folders.layers.map(at).join(':')}`,
    `upperdir=${at(folders.upper)}`,
    `workdir=${at(folders.work)}`,
    // Without it, unmounting waits for the disk.
    'volatile',
    ...(root.rootless ? ['userxattr'] : []),
  ]
  return Promise.all([
    agent.call('mount', ['overlay', root.root, 'overlay', root.privileged ? 0 : MS.NODEV, options.join(',')]),
    agent.call('chdir', [root.root]),
    agent.call('pivot_root', ['.', '.']),
    agent.call('umount2', ['.', MNT_DETACH]),
    agent.call('chdir', ['/']),
  ])
}

/** Outer ones before those inside them. */
export async function attachVolumes(
  agent: AgentChannel,
  { volumes, users }: RootFilesystem,
  trees: readonly number[],
): Promise<void> {
  const depth = (volume: Volume) => volume.containerPath.split('/').filter(Boolean).length
  const order = volumes.map((volume, i) => ({ volume, tree: trees[i]! }))
  order.sort((a, b) => depth(a.volume) - depth(b.volume))
  const attached: Promise<number>[] = []
  for (const { volume, tree } of order) {
    const target = await mountTarget(agent, volume.containerPath, volume.kind, users?.root)
    // The agent does it before it looks for the next place.
    attached.push(attachTree(agent, tree, target))
  }
  await Promise.all(attached)
}

export const remountReadonly = (agent: AgentChannel) =>
  agent.call('mount', [null, '/', null, MS.REMOUNT | MS.BIND | MS.RDONLY | MS.NODEV, null])
