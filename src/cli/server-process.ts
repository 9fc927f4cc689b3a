import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FeatureGate } from '../api/feature-gates.ts'
import { writeFileAtomically } from '../base/atomic-file.ts'
import { type Changes, fileChanges } from '../base/changes.ts'
import { systemClock } from '../base/clock.ts'
import { setHeapGrowth } from '../base/heap-growth.ts'
import type { Logger } from '../base/log.ts'
import { processStartTime } from '../base/process-identity.ts'
import type { Membership } from '../cluster/join-node.ts'
import { type KubeletChoices, kubeletChoices } from '../cluster/node-settings.ts'
import { type Cluster, type ClusterOptions, startCluster } from '../cluster/start-cluster.ts'
import { parseStoreChoice, type StoreChoice } from '../cluster/store-choice.ts'
import { saveSnapshot } from '../store/snapshot.ts'
import { controlSocketPath, serveControl } from './instance/control.ts'
import {
  adminKubeconfigPath,
  claimServer,
  type EtcdFiles,
  type Instance,
  type NodeRuntime,
  type RunningServer,
  releaseServer,
  type SecurityFiles,
  type Settings,
  updateServer,
  writeSettings,
} from './instance/instance.ts'

/** What one server process needs to know; passes as JSON from `sampan up` to the detached process. */
export interface ServerSettings extends KubeletChoices {
  readonly instance: Instance
  readonly store: string
  readonly etcd?: EtcdFiles
  readonly files?: SecurityFiles
  readonly featureGates?: readonly FeatureGate[]
  readonly apiPort: number
  readonly kubeconfig?: string
  readonly nodes?: number
  /** What runs the pods of these nodes. */
  readonly runtime?: NodeRuntime
  /** The socket of runtime `cri`. */
  readonly runtimeEndpoint?: string
  readonly proxyMode?: string
  readonly network?: string
  /** Where other machines reach the API server. */
  readonly listen?: string
  /** Of the node that this machine is, if others may join. */
  readonly nodeName?: string
  /** No cluster at all, but a node of one on another machine. */
  readonly membership?: Membership
  /** Nobody asked for nodes: where none can run, there are none. */
  readonly nodesOptional?: boolean
  /** This process is in a user namespace made for it: see rootless.ts. */
  readonly isInside?: boolean
  /** Where nodes ask for names of the rest of the world, if not where this machine does. */
  readonly upstreamDns?: readonly string[]
}

export interface ServingCluster extends AsyncDisposable {
  readonly server: RunningServer
  /** Resolves if it ended by itself, or was ended by others. */
  readonly ended?: Promise<void>
}

/** Serves a cluster from this process: claims the data directory, starts, and tells the world where it is. */
export async function serveCluster(settings: ServerSettings, log: Logger): Promise<ServingCluster> {
  setHeapGrowth()
  const { instance, store, kubeconfig, nodes = 0 } = settings
  const claim: RunningServer = {
    pid: process.pid,
    startTime: processStartTime(process.pid) ?? '',
    url: '',
    store,
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(nodes > 0 && { nodes, runtime: settings.runtime ?? 'simulated' }),
  }
  await claimServer(instance, claim)
  // Whoever waits for the API is told first; the control loops start after that.
  let report = () => {}
  const reported = new Promise<void>((resolve) => {
    report = resolve
  })
  let cluster: Cluster | undefined
  let control: AsyncDisposable | undefined
  const dispose = async () => {
    report()
    await control?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await releaseServer(instance, process.pid)
  }
  try {
    cluster = await start(settings, log, reported)
    control = await serveControl(controlSocketPath(instance.dataDir), handlers(cluster))
    const server = { ...claim, url: cluster.url! }
    await Promise.all([
      writeFileAtomically(adminKubeconfigPath(instance), cluster.kubeconfig),
      writeSettings(instance, chosenOf(settings, Number(new URL(server.url).port))),
      updateServer(instance, server),
    ])
    log.info('serving', { url: server.url, store, pid: process.pid })
    setImmediate(report)
    return { server, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

/** Simulated nodes live in this process; real ones are processes of their own, and what they need is loaded only then. */
async function start(settings: ServerSettings, log: Logger, background: Promise<void>): Promise<Cluster> {
  const { instance, store, etcd, apiPort, nodes = 0, runtime = 'simulated' } = settings
  const options = {
    name: instance.context,
    store: await storeChoice(store, etcd),
    dataDir: instance.dataDir,
    listen: { port: apiPort },
    background,
    log,
    featureGates: settings.featureGates ?? [],
    onNewCertificates: (cluster: Cluster) => tellNewCredentials(settings, cluster),
    ...(settings.files && (await securityOptions(settings.files, instance, log))),
  }
  const { listen, nodeName } = settings
  if (runtime === 'simulated' || (nodes === 0 && !listen)) return startSimulated({ ...options, nodes }, listen)
  const [{ startClusterWithNodes }, { kernelLinux }] = await Promise.all([
    import('../cluster/start-cluster-with-nodes.ts'),
    import('../linux/kernel-linux.ts'),
  ])
  // Machines need not be neighbours; the nodes of one machine are.
  const { proxyMode = 'nftables', network = listen ? 'vxlan' : 'host-gw' } = settings
  return startClusterWithNodes(options, {
    count: nodes,
    entry: nodeEntry(),
    linux: kernelLinux(),
    proxyMode,
    network,
    runtime: runtime === 'cri' ? (settings.runtimeEndpoint ?? '') : runtime,
    rootless: settings.isInside ?? false,
    kubelet: kubeletChoices(settings),
    ...(settings.upstreamDns && { upstreamDns: settings.upstreamDns }),
    ...(listen && nodeName && { machine: { listen, name: nodeName } }),
  })
}

/** The administrator's certificate is renewed with the others, long before the old one ends. */
async function tellNewCredentials({ instance, kubeconfig }: ServerSettings, cluster: Cluster): Promise<void> {
  await writeFileAtomically(adminKubeconfigPath(instance), cluster.kubeconfig)
  const { refreshContext } = await import('./instance/published-context.ts')
  if (kubeconfig !== undefined) await refreshContext(instance, kubeconfig)
}

async function startSimulated(options: ClusterOptions, listen: string | undefined): Promise<Cluster> {
  if (!listen) return startCluster(options)
  const { openToMachines } = await import('../cluster/listen-places.ts')
  return startCluster({ ...options, ...openToMachines(options, listen) })
}

/** With a policy and no place for the log, it is beside the cluster's state. Keys and issuers may change at any time. */
async function securityOptions(
  { auditPolicy, auditLog, encryption, authentication }: SecurityFiles,
  { dataDir }: Instance,
  log: Logger,
): Promise<Pick<ClusterOptions, 'audit' | 'encryption' | 'encryptionChanges' | 'authentication'>> {
  const { parse } = await import('yaml')
  const read = async <T>(path: string): Promise<{ value: T; changes: Changes<T> }> => {
    const text = await readFile(path, 'utf8')
    const failed = (error: unknown) => log.error('a changed file cannot be read', { path, error: String(error) })
    const toValue = (content: string) => parse(content) as T
    return { value: toValue(text), changes: fileChanges(path, text, toValue, systemClock, failed) }
  }
  const path = auditLog ?? join(dataDir, 'audit.log')
  const policy = auditPolicy && (await read<AuditPolicy>(auditPolicy))
  const keys = encryption && (await read<NonNullable<ClusterOptions['encryption']>>(encryption))
  const issuers = authentication && (await read<AuthenticationConfiguration>(authentication))
  return {
    ...(policy && { audit: { policy: policy.value, log: { path } } }),
    ...(keys && { encryption: keys.value, encryptionChanges: keys.changes }),
    ...(issuers && { authentication: { configuration: issuers.value, configurationChanges: issuers.changes } }),
  }
}

type AuthenticationConfiguration = NonNullable<NonNullable<ClusterOptions['authentication']>['configuration']>
type AuditPolicy = NonNullable<ClusterOptions['audit']>['policy']

/** Beside the program that runs now, in the package as in a build. */
const nodeEntry = () => join(dirname(process.argv[1]!), 'sampan-node.js')

async function storeChoice(text: string, files: EtcdFiles = {}): Promise<StoreChoice> {
  const choice = parseStoreChoice(text)
  if (choice.type !== 'etcd') return choice
  const named = Object.entries(files).map(async ([name, file]) => [name, await readFile(file, 'utf8')] as const)
  return { ...choice, tls: Object.fromEntries(await Promise.all(named)) }
}

function handlers(cluster: Cluster) {
  const started = systemClock.now()
  return {
    snapshot: async (file: string) => ({ revision: await saveSnapshot(cluster.store, file) }),
    status: async () => ({
      revision: await cluster.store.revision(),
      residentBytes: process.memoryUsage.rss(),
      uptimeSeconds: Math.floor((systemClock.now() - started) / 1000),
    }),
  }
}

/** What the next `sampan up` without flags starts from. */
function chosenOf(settings: ServerSettings, apiPort: number): Settings {
  const { store, etcd, files, featureGates, nodes, runtime, runtimeEndpoint, proxyMode, network, listen, nodeName } =
    settings
  return {
    apiPort,
    store,
    ...(etcd && { etcd }),
    ...(files && { files }),
    ...(featureGates?.length && { featureGates }),
    ...(nodes !== undefined && { nodes }),
    ...(runtime && { runtime }),
    ...(runtimeEndpoint && { runtimeEndpoint }),
    ...(proxyMode && { proxyMode }),
    ...(network && { network }),
    ...kubeletChoices(settings),
    ...(listen && { listen }),
    ...(nodeName && { nodeName }),
  }
}

/** One Ctrl-C may come twice: from the terminal, and from a parent that passes it on. */
const SAME_REQUEST = 1000

/** Resolves at the first request to stop; a second one ends the process at once. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked: number | undefined
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (asked !== undefined && systemClock.now() - asked > SAME_REQUEST) process.exit(130)
        asked ??= systemClock.now()
        resolve(signal)
      })
    }
  })
}
