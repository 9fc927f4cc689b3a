/** What runs the pods of a node: the builtin runtime, a containerd of the node's own, or whatever answers on a CRI socket. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { allImages } from '../container-runtime/all-images.ts'
import { startBuiltinRuntime } from '../container-runtime/builtin-runtime.ts'
import { type HostImageOptions, hostImage } from '../container-runtime/host-image.ts'
import { openImageStore } from '../container-runtime/image-store.ts'
import type { ContainerRuntime } from '../container-runtime/runtime.ts'
import type { SandboxNetwork } from '../container-runtime/sandbox-network.ts'
import { delegatedCgroup } from '../linux/cgroups.ts'
import type { SyscallAgents } from '../linux/syscall-agent.ts'
import type { AsyncDisposables } from './async-disposables.ts'
import {
  cgroupParentPath,
  containerdDir,
  hostTreesDir,
  imagesDir,
  type NodeSettings,
  nodeCgroupRoot,
} from './node-settings.ts'

export interface RuntimeParts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly network: SandboxNetwork
  readonly agents: SyscallAgents
  readonly stack: AsyncDisposables
  readonly removals: (() => Promise<void>)[]
}

export function startRuntime(settings: NodeSettings, parts: RuntimeParts): Promise<ContainerRuntime> {
  const { runtime = 'builtin' } = settings
  if (runtime === 'builtin') return startBuiltin(settings, parts)
  return runtime === 'containerd' ? startContainerd(settings, parts) : startCri(settings, parts, runtime)
}

async function startBuiltin(settings: NodeSettings, parts: RuntimeParts): Promise<ContainerRuntime> {
  const { dataDir, rootless, machineAddress: gateway } = settings
  const { clock, random, log, network, agents, stack } = parts
  const store = await openImageStore({
    clock,
    log,
    dir: imagesDir(dataDir),
    agent: agents.host,
    rootless,
    registries: gateway === undefined ? {} : { loopback: gateway, insecure: [gateway] },
    inUse: async () =>
      (await runtime.listContainers()).flatMap(({ imageId, imageVolumes = [] }) => [imageId, ...imageVolumes]),
  })
  const runtime: ContainerRuntime = stack.use(
    await startBuiltinRuntime({
      clock,
      random,
      log,
      stateDir: join(dataDir, 'containers'),
      rootless,
      network,
      images: allImages(hostImage(hostImageOptions(settings, agents)), store),
      cgroupRoot: ownCgroupRoot(settings),
    }),
  )
  await store.collect()
  return runtime
}

/** Whatever these need is loaded only then. */
async function startContainerd(settings: NodeSettings, parts: RuntimeParts): Promise<ContainerRuntime> {
  const { dataDir } = settings
  const { clock, log, network, agents, stack, removals } = parts
  const { startPrivateContainerd } = await import('../container-runtime/private-containerd.ts')
  const { startCriRuntime } = await import('../container-runtime/cri-runtime.ts')
  const common = { clock, log, cgroupRoot: nodeCgroupRoot(dataDir) }
  const containerd = stack.use(await startPrivateContainerd({ ...common, dir: containerdDir(dataDir), network }))
  removals.push(() => containerd.remove())
  const { socket, importArchive, pinned } = containerd
  const host = hostImage(hostImageOptions(settings, agents))
  return stack.use(await startCriRuntime({ ...common, socket, importArchive, pinned, hostImage: host }))
}

/** The network of its pods is what the runtime's own CNI configuration makes. */
async function startCri({ dataDir }: NodeSettings, parts: RuntimeParts, socket: string): Promise<ContainerRuntime> {
  const { clock, log, stack } = parts
  const { startCriRuntime } = await import('../container-runtime/cri-runtime.ts')
  return stack.use(await startCriRuntime({ clock, log, socket, cgroupRoot: nodeCgroupRoot(dataDir) }))
}

function hostImageOptions({ dataDir, rootless, allowHostPath }: NodeSettings, agents: SyscallAgents): HostImageOptions {
  return {
    folder: imagesDir(dataDir),
    ...(!rootless && { mounting: { agents, treesFolder: hostTreesDir(dataDir) } }),
    ...(allowHostPath && { allowHostPath }),
  }
}

/** Without root, beside the group of this process, where the system lets the user. */
function ownCgroupRoot({ dataDir, rootless }: NodeSettings): string {
  const parent = rootless ? delegatedCgroup() : undefined
  if (parent !== undefined) writeFileSync(cgroupParentPath(dataDir), parent)
  return (parent ?? '') + nodeCgroupRoot(dataDir)
}
