/**
 * A pod with users of its own (KEP-127): ids of its processes stand for others of the node, which own nothing there. The
 * namespace owns the pod's network, so that its root may do there what root of a pod does. Files keep the ids that images
 * and volumes have: the kernel translates them, mount by mount.
 */
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { AT_FDCWD, CLONE, cloneTree, MOVE_MOUNT_F_EMPTY_PATH, MS, mapOwners } from '../../linux/mounts.ts'
import type { AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'
import { errnoName } from '../../linux/system-error.ts'
import { RuntimeError } from '../runtime.ts'
import type { IdMapping, NamespaceOptions } from '../sandbox-config.ts'

export type UserMapping = NonNullable<NamespaceOptions['user']>

/** What the container's root is to the node. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

export const userNamespacePath = (sandboxFolder: string) => path.join(sandboxFolder, 'ns', 'user')
export const ownNetworkPath = (sandboxFolder: string) => path.join(sandboxFolder, 'ns', 'net')

export function rootOf({ uids, gids }: UserMapping): Owner {
  const first = (mappings: readonly IdMapping[]) => {
    const found = mappings.find(({ containerId }) => containerId === 0)
    if (!found) throw new RuntimeError('InvalidArgument', 'a user namespace needs a root: container id 0 is not mapped')
    return found.hostId
  }
  return { uid: first(uids), gid: first(gids) }
}

/** Both namespaces stay with the files they are mounted on. */
export async function makeUserNamespace(agents: SyscallAgents, folder: string, user: UserMapping): Promise<void> {
  mkdirSync(path.join(folder, 'ns'), { recursive: true, mode: 0o711 })
  const { channel, pid } = await agents.fork(CLONE.NEWUSER | CLONE.NEWNET)
  try {
    writeFileSync(`/proc/${pid}/uid_map`, mapText(user.uids))
    writeFileSync(`/proc/${pid}/gid_map`, mapText(user.gids))
    for (const [name, file] of [
      ['user', userNamespacePath(folder)],
      ['net', ownNetworkPath(folder)],
    ] as const) {
      writeFileSync(file, '')
      await agents.host.call('mount', [`/proc/${pid}/ns/${name}`, file, null, MS.BIND, null])
    }
  } finally {
    channel.close()
  }
}

const mapText = (mappings: readonly IdMapping[]) =>
  mappings.map(({ containerId, hostId, length }) => `${containerId} ${hostId} ${length}\n`).join('')

/** The layers of an image below `folder`, with the owners that the pod sees. The topmost first. */
export async function mapLayers(
  agent: AgentChannel,
  layers: readonly string[],
  folder: string,
  userNamespace: number,
): Promise<string[]> {
  const mapped: string[] = []
  for (const [i, layer] of layers.entries()) {
    const target = path.join(folder, String(i))
    const tree = await cloneTree(agent, layer, false)
    await mapTree(agent, tree, userNamespace, layer)
    // Not every kernel takes a layer that is mounted nowhere.
    await agent.call('move_mount', [tree, '', AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH])
    agent.tell('close', [tree])
    mapped.push(target)
  }
  return mapped
}

export async function mapTree(agent: AgentChannel, tree: number, userNamespace: number, source: string): Promise<void> {
  const result = await mapOwners(agent, tree, userNamespace)
  if (result >= 0) return
  const reason = `the file system of "${source}" does not support idmapped mounts (${errnoName(-result)})`
  throw new RuntimeError('FailedPrecondition', `cannot run with a user namespace: ${reason}`)
}

/** Folders of the node that the container's root owns. */
export function giveFolders(folder: string, layers: number, { uid, gid }: Owner): void {
  for (let i = 0; i < layers; i++) mkdirSync(path.join(folder, 'lower', String(i)), { recursive: true })
  for (const name of ['upper', 'work']) chownSync(path.join(folder, name), uid, gid)
}
