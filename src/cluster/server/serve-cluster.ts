import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import { systemClock } from '../../base/clock.ts'
import { setHeapGrowth } from '../../base/heap-growth.ts'
import type { Logger } from '../../base/log.ts'
import { thisProcess } from '../../base/process-claim.ts'
import { saveSnapshot } from '../../store/snapshot.ts'
import type { Cluster } from '../cluster.ts'
import { type ClusterConfiguration, inScope, runtimeOf, valueFor } from '../configuration.ts'
import type { ControlPlaneOptions, RealNodesOptions } from '../control-plane/control-plane.ts'
import { openToMachines } from '../control-plane/listen-addresses.ts'
import {
  adminKubeconfigPath,
  claimServer,
  type RunningServer,
  releaseServer,
  saveConfiguration,
  updateServer,
} from '../instance.ts'
import { type ControlHandlers, controlSocketPath, serveControl } from '../processes/control-socket.ts'
import { startCluster } from '../start-cluster.ts'
import { parseStoreChoice, type StoreChoice } from '../store-choice.ts'
import { securityOptions } from './security-files.ts'
import type { ServerSettings, Serving } from './server-settings.ts'

/** Serves a cluster from this process: claims the data directory, starts, and writes down where it is. */
export async function serveCluster(settings: ServerSettings, log: Logger): Promise<Serving> {
  setHeapGrowth()
  const { instance, configuration } = settings
  const claim = claimOf(settings)
  await claimServer(instance, claim)
  // The control loops start after the start was reported.
  let report = () => {}
  const reported = new Promise<void>((resolve) => {
    report = resolve
  })
  let cluster: Cluster | undefined
  let control: AsyncDisposable | undefined
  const dispose = async () => {
    await control?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await releaseServer(instance, process.pid)
  }
  try {
    const options = await clusterOptions(settings, log)
    cluster = await startCluster({ ...options, background: reported }, ...(await partsFor(options)))
    control = await serveControl(controlSocketPath(instance.dataDir), handlers(cluster))
    const server = { ...claim, url: cluster.url! }
    await Promise.all([
      writeFileAtomically(adminKubeconfigPath(instance), cluster.kubeconfig),
      saveConfiguration(instance, { ...configuration, apiPort: Number(new URL(server.url).port) }),
      updateServer(instance, server),
    ])
    log.info('serving', { url: server.url, store: claim.store, pid: process.pid })
    setImmediate(report)
    return { server, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

function claimOf({ configuration, kubeconfig }: ServerSettings): RunningServer {
  const { nodes = 0 } = configuration
  return {
    ...thisProcess(),
    url: '',
    store: valueFor(configuration, 'store'),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(nodes > 0 && { nodes, runtime: runtimeOf(configuration) ?? 'simulated' }),
  }
}

/** Translates the configuration to options of `startCluster()`. */
async function clusterOptions(settings: ServerSettings, log: Logger): Promise<ControlPlaneOptions> {
  const { instance, configuration } = settings
  const { nodes = 0, listen } = configuration
  const { dataDir } = instance
  const options: ControlPlaneOptions = {
    ...inScope('control-plane', configuration),
    name: instance.context,
    store: await storeChoice(configuration),
    dataDir,
    listen: { port: valueFor(configuration, 'apiPort') },
    log,
    onNewCertificates: (cluster) => publishNewCredentials(settings, cluster),
    ...(await securityOptions(configuration, dataDir, log)),
  }
  const isSimulated = runtimeOf(configuration) === 'simulated'
  const realNodes = isSimulated || (nodes === 0 && !listen) ? undefined : realNodesOptions(settings)
  return {
    ...options,
    ...(listen && openToMachines(options, listen)),
    ...(realNodes ? { realNodes } : { nodes }),
  }
}

/** What real nodes need is loaded only where there are any. */
async function partsFor({ realNodes }: ControlPlaneOptions) {
  if (!realNodes) return [] as const
  const { PARTS_WITH_REAL_NODES } = await import('../control-plane/parts-with-nodes.ts')
  return [PARTS_WITH_REAL_NODES] as const
}

function realNodesOptions({ instance, configuration, isInside, upstreamDns }: ServerSettings): RealNodesOptions {
  const { nodes = 0, listen, nodeName } = configuration
  return {
    count: nodes,
    entry: nodeEntry(),
    dataDir: instance.dataDir,
    configuration: inScope('node', configuration),
    rootless: isInside ?? false,
    ...(upstreamDns && { upstreamDns }),
    ...(listen && nodeName && { machine: { listen, name: nodeName } }),
  }
}

/** The program of a node is beside the one that runs now, in the package as in a build. */
export const nodeEntry = () => join(dirname(process.argv[1]!), 'sampan-node.js')

/** The administrator's certificate is renewed with the others, long before the old one ends. */
async function publishNewCredentials({ instance, kubeconfig }: ServerSettings, cluster: Cluster): Promise<void> {
  await writeFileAtomically(adminKubeconfigPath(instance), cluster.kubeconfig)
  const { refreshContext } = await import('../credentials/published-context.ts')
  if (kubeconfig !== undefined) await refreshContext(instance, kubeconfig)
}

async function storeChoice(configuration: ClusterConfiguration): Promise<StoreChoice> {
  const choice = parseStoreChoice(valueFor(configuration, 'store'))
  if (choice.type !== 'etcd') return choice
  const { etcdCa: ca, etcdCert: cert, etcdKey: key } = configuration
  const read = async (name: string, file: string | undefined) =>
    file === undefined ? {} : { [name]: await readFile(file, 'utf8') }
  return { ...choice, tls: { ...(await read('ca', ca)), ...(await read('cert', cert)), ...(await read('key', key)) } }
}

function handlers(cluster: Cluster): ControlHandlers {
  const started = systemClock.now()
  return {
    snapshot: async (file) => ({ revision: await saveSnapshot(cluster.store, file) }),
    status: async () => ({
      revision: await cluster.store.revision(),
      residentBytes: process.memoryUsage.rss(),
      uptimeSeconds: Math.floor((systemClock.now() - started) / 1000),
      parts: cluster.parts,
    }),
  }
}
