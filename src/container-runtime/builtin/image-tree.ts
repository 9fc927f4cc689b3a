import { AT_FDCWD, cloneTreeOf, MS, O, O_DIRECTORY, openInRoot } from '../../linux/mounts.ts'
import type { AgentChannel } from '../../linux/syscall-agent.ts'
import { errnoName } from '../../linux/system-error.ts'
import type { ContainerConfig } from '../container-config.ts'
import { RuntimeError } from '../runtime.ts'

/** What an image holds, as a volume. */
export interface ImageTree {
  /** Read-only folders, the topmost first. */
  readonly layers: readonly string[]
  /** An empty folder of the host to stack them on, in a mount namespace that nobody else sees. */
  readonly place: string
  readonly subPath: string
}

export const imageVolumesOf = ({ mounts }: ContainerConfig): string[] => [
  ...new Set(mounts.flatMap(({ image }) => image?.id ?? [])),
]

/** A tree that is mounted nowhere. Links of the image lead only inside of it. */
export async function imageTree(agent: AgentChannel, tree: ImageTree, rootless: boolean): Promise<number> {
  const { layers, place, subPath } = tree
  const [only] = layers
  if (only === undefined) throw new RuntimeError('InvalidArgument', 'an image without layers cannot be a volume')
  if (layers.length > 1) await stack(agent, tree, rootless)
  const root = await openFolder(agent, layers.length > 1 ? place : only)
  const found = await openInRoot(agent, root, subPath, O.PATH | O_DIRECTORY)
  if (found < 0) throw new RuntimeError('InvalidArgument', `the image has no folder "${subPath}": ${errnoName(-found)}`)
  return cloneTreeOf(agent, found)
}

async function stack(agent: AgentChannel, { layers, place }: ImageTree, rootless: boolean): Promise<void> {
  const opened = await Promise.all(layers.map((layer) => openFolder(agent, layer)))
  const lower = opened.map((descriptor) => `/proc/self/fd/${descriptor}`).join(':')
  const options = `lowerdir=${lower}${rootless ? ',userxattr' : ''}`
  await agent.call('mount', ['overlay', place, 'overlay', MS.RDONLY, options])
}

const openFolder = (agent: AgentChannel, folder: string) =>
  agent.call('openat', [AT_FDCWD, folder, O.PATH | O.CLOEXEC | O_DIRECTORY, 0])
