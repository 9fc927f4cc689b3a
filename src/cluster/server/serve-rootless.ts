/** Serves a cluster with real nodes for a user without root: the server runs in a user namespace, see src/rootless. */
import { systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { kernelLinux } from '../../linux/kernel-linux.ts'
import { UserNamespaceForbidden } from '../../linux/user-namespace.ts'
import { openInnerNetwork } from '../../rootless/inner-network.ts'
import { INNER_NAMESERVER, type InnerProcess, startInnerProcess } from '../../rootless/outer-process.ts'
import { valueFor } from '../configuration.ts'
import { findServer, flagsOf, type Instance, type RunningServer } from '../instance.ts'
import { NODE_NETWORKS, networkRanges, rangesIn } from '../local-nodes/network-ranges.ts'
import { UserError } from '../user-error.ts'
import { serveCluster } from './serve-cluster.ts'
import type { ServerSettings, Serving } from './server-settings.ts'

const START_TIMEOUT = 30_000
const INTERVAL = 20

/** Starts the server inside; with `nodesOptional`, goes on without nodes where the system forbids user namespaces. */
export async function serveFromOutside(settings: ServerSettings, log: Logger, entry: string): Promise<Serving> {
  const { instance, configuration } = settings
  try {
    const inner = await startInnerProcess({
      dataDir: instance.dataDir,
      apiPort: valueFor(configuration, 'apiPort'),
      args: (apiPort) => {
        const inside = { configuration: { ...configuration, apiPort }, isInside: true, upstreamDns: [INNER_NAMESERVER] }
        return [entry, JSON.stringify({ ...settings, ...inside } satisfies ServerSettings)]
      },
      clock: systemClock,
    })
    const server = await whenServing(instance, inner)
    return { server, ended: inner.ended, [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose]() }
  } catch (error) {
    if (!(error instanceof UserNamespaceForbidden)) throw error
    if (!settings.nodesOptional)
      throw new UserError(error.message, ['For a cluster without nodes: sampan up --nodes 0'])
    log.warn('this user cannot run real pods', { error: error.message })
    return serveCluster({ ...settings, configuration: { ...configuration, nodes: 0 } }, log)
  }
}

/** Serves the cluster inside the user namespace. */
export async function serveInside(settings: ServerSettings, log: Logger): Promise<Serving> {
  const { dataDir } = settings.instance
  const linux = kernelLinux()
  const ranges = await networkRanges(dataDir, linux, valueFor(settings.configuration, 'store').startsWith('etcd'))
  const network = await openInnerNetwork({ dataDir, linux, inside: [...rangesIn(ranges), NODE_NETWORKS], log })
  const serving = await serveCluster(settings, log)
  await network.admit(Number(new URL(serving.server.url).port))
  return {
    server: serving.server,
    ended: network.abandoned,
    async [Symbol.asyncDispose]() {
      network.close()
      await serving[Symbol.asyncDispose]()
      await network[Symbol.asyncDispose]()
    },
  }
}

async function whenServing(instance: Instance, inner: InnerProcess): Promise<RunningServer> {
  let hasEnded = false
  void inner.ended.then(() => {
    hasEnded = true
  })
  for (const end = systemClock.now() + START_TIMEOUT; !hasEnded && systemClock.now() < end; ) {
    const server = await findServer(instance)
    if (server && server.url !== '' && (await inner.isReachable())) return server
    await systemClock.sleep(INTERVAL)
  }
  await inner[Symbol.asyncDispose]()
  throw new UserError('the server ended during its start', [`Its log: sampan logs${flagsOf(instance)}`])
}
