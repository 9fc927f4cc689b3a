/** Serves one node of a cluster on another machine, in the place of a whole cluster. */
import { systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { thisProcess } from '../../base/process-claim.ts'
import { systemRandom } from '../../base/random.ts'
import { kernelLinux } from '../../linux/kernel-linux.ts'
import { claimServer, type Instance, type RunningServer, releaseServer } from '../instance.ts'
import { startJoinedNode } from '../join/joined-node.ts'
import type { Membership } from '../join/membership.ts'
import { nodeEntry } from './serve-cluster.ts'
import type { Serving } from './server-settings.ts'

export async function serveJoinedNode(instance: Instance, membership: Membership, log: Logger): Promise<Serving> {
  const { server: url, node } = membership
  const server: RunningServer = { ...thisProcess(), url, store: '', joinedAs: node.name }
  await claimServer(instance, server)
  try {
    const running = await startJoinedNode(membership, {
      dataDir: instance.dataDir,
      entry: nodeEntry(),
      linux: kernelLinux(),
      clock: systemClock,
      random: systemRandom,
      log,
    })
    log.info('the node is started', { node: node.name, server: url, pid: process.pid })
    return {
      server,
      async [Symbol.asyncDispose]() {
        await running[Symbol.asyncDispose]()
        await releaseServer(instance, process.pid)
      },
    }
  } catch (error) {
    await releaseServer(instance, process.pid)
    throw error
  }
}
