/** Serves one node of a cluster on another machine from this process, in the place where `up` has a whole cluster. */
import { dirname, join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { thisProcess } from '../base/process-claim.ts'
import { systemRandom } from '../base/random.ts'
import type { Membership } from '../cluster/join-node.ts'
import { startJoinedNode } from '../cluster/joined-node.ts'
import { kernelLinux } from '../linux/kernel-linux.ts'
import { claimServer, type Instance, type RunningServer, releaseServer } from './instance/instance.ts'
import type { ServingCluster } from './server-process.ts'

export async function serveJoinedNode(
  instance: Instance,
  membership: Membership,
  log: Logger,
): Promise<ServingCluster> {
  const { server: url, node } = membership
  const server: RunningServer = { ...thisProcess(), url, store: '', joinedAs: node.name }
  await claimServer(instance, server)
  try {
    const running = await startJoinedNode(membership, {
      dataDir: instance.dataDir,
      entry: join(dirname(process.argv[1]!), 'sampan-node.js'),
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
