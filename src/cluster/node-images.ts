/** What `sampan image` works on: the image stores of a cluster's nodes on this machine. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { findOwner, type ProcessRecord } from '../base/process-claim.ts'
import type { ImageService } from '../container-runtime/image-service.ts'
import { openImageStore } from '../container-runtime/image-store.ts'
import type { ContainerRuntime } from '../container-runtime/runtime.ts'
import { startSyscallAgents } from '../linux/syscall-agent.ts'
import { runtimeOf } from './configuration.ts'
import { type Instance, readSavedConfiguration } from './instance.ts'
import { containerdDir, imagesDir, nodeClaimPath } from './node/node-settings.ts'
import { UserError } from './user-error.ts'

export interface NodeImages extends AsyncDisposable {
  readonly nodes: readonly { readonly name: string; readonly images: ImageService }[]
}

/** A cluster that has never run gets the folder that its first node will use. */
export async function openNodeImages(instance: Instance): Promise<NodeImages> {
  const { dataDir } = instance
  const configuration = await readSavedConfiguration(instance)
  const runtime = runtimeOf(configuration)
  const found = (await readdir(join(dataDir, 'nodes')).catch(() => [])).sort()
  const names = found.length > 0 ? found : ['node-1']
  if (runtime === 'containerd' || runtime === 'cri')
    return runtimeImages(dataDir, names, configuration.containerRuntimeEndpoint)
  const agents = process.platform === 'linux' ? await startSyscallAgents() : undefined
  const nodes = await Promise.all(
    names.map(async (name) => {
      const folder = join(dataDir, 'nodes', name)
      const unused = await isIdle(folder)
      const images = await openImageStore({
        dir: imagesDir(folder),
        clock: systemClock,
        log: silentLogger,
        ...(agents && { agent: agents.host }),
        // A node that runs knows what its containers use, and clears away itself.
        ...(unused && { inUse: async () => [] }),
      })
      return { name, images }
    }),
  )
  return {
    nodes,
    async [Symbol.asyncDispose]() {
      await agents?.[Symbol.asyncDispose]()
    },
  }
}

/** These runtimes keep their images themselves, and can be asked while they run. */
async function runtimeImages(dataDir: string, names: readonly string[], endpoint?: string): Promise<NodeImages> {
  const common = { clock: systemClock, log: silentLogger }
  const connect = async (name: string) => {
    if (endpoint)
      return (await import('../container-runtime/cri-runtime.ts')).startCriRuntime({ ...common, socket: endpoint })
    const { connectPrivateContainerd } = await import('../container-runtime/private-containerd.ts')
    return connectPrivateContainerd(containerdDir(join(dataDir, 'nodes', name)), common.clock, common.log)
  }
  const opened: { name: string; runtime: ContainerRuntime }[] = []
  const dispose = async () => {
    for (const { runtime } of opened) await runtime[Symbol.asyncDispose]()
  }
  try {
    for (const name of names) opened.push({ name, runtime: await connect(name) })
  } catch (error) {
    await dispose()
    throw new UserError((error as Error).message, [
      'Images of containerd can be reached while the cluster runs: sampan up',
    ])
  }
  return {
    nodes: opened.map(({ name, runtime }) => ({ name, images: runtime.images })),
    [Symbol.asyncDispose]: dispose,
  }
}

/** Neither a process of the node nor a container that outlived it. */
async function isIdle(folder: string): Promise<boolean> {
  if (await findOwner<ProcessRecord>(nodeClaimPath(folder))) return false
  const records = await readdir(join(folder, 'containers'), { recursive: true, withFileTypes: true }).catch(() => [])
  return !records.some((entry) => entry.isFile())
}
