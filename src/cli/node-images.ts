/** What `sampan image` loads beyond the command line itself: the image stores of a cluster's nodes on this machine. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { findOwner, type ProcessRecord } from '../base/process-claim.ts'
import { imagesDir, nodeClaimPath } from '../cluster/node-settings.ts'
import { type ImageStore, openImageStore } from '../container-runtime/image-store.ts'
import { startSyscallAgents } from '../linux/syscall-agent.ts'

export interface NodeImages extends AsyncDisposable {
  readonly nodes: readonly { readonly name: string; readonly images: ImageStore }[]
}

/** A cluster that has never run gets the folder its first node will use. */
export async function openNodeImages(dataDir: string): Promise<NodeImages> {
  const found = (await readdir(join(dataDir, 'nodes')).catch(() => [])).sort()
  const names = found.length > 0 ? found : ['node-1']
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

/** Neither a process of the node nor a container that outlived it. */
async function isIdle(folder: string): Promise<boolean> {
  if (await findOwner<ProcessRecord>(nodeClaimPath(folder))) return false
  const records = await readdir(join(folder, 'containers'), { recursive: true, withFileTypes: true }).catch(() => [])
  return !records.some((entry) => entry.isFile())
}
