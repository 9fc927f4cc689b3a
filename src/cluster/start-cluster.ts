import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { enableFeatures, type FeatureGate } from '../api/feature-gates.ts'
import type { SecurityOptions } from '../apiserver/security.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../apiserver/server.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Logger, silentLogger } from '../base/log.ts'
import { type Random, systemRandom } from '../base/random.ts'
import { type Client, createClient } from '../client/client.ts'
import type { MetricsSource } from '../client/metrics-source.ts'
import type { Transport } from '../client/transport.ts'
import type { SimulatedNodeSpec, SimulatedNodes } from '../kubelet/simulated-node.ts'
import type { SchedulerConfiguration } from '../scheduler/configuration.ts'
import type { Store } from '../store/store.ts'
import { renderKubeconfig } from './admin-kubeconfig.ts'
import { pluginsWithoutControllers } from './admission-without-controllers.ts'
import { AsyncDisposables } from './async-disposables.ts'
import { rotateCertificates } from './certificate-rotation.ts'
import { type ClusterCertificates, loadCertificates } from './certificates.ts'
import { kubeletConnector } from './kubelet-connector.ts'
import { openStore } from './open-store.ts'
import { apiServerNames, machineAddress } from './server-names.ts'
import { serviceAccountKeys } from './service-account-keys.ts'
import type { ControlLoops } from './start-control-loops.ts'
import type { StoreChoice } from './store-choice.ts'

export interface ListenAddress {
  readonly host?: string
  readonly port?: number
  /** Where else to listen, on the same port: nodes and pods find the API server at the first of these. */
  readonly also?: readonly string[]
}

export interface ClusterOptions {
  /** The name of the context in `cluster.kubeconfig`. */
  readonly name?: string
  /** In memory by default. */
  readonly store?: StoreChoice
  /** Where the embedded store and the certificates are kept; needed by the embedded store only. */
  readonly dataDir?: string
  /** Where to serve HTTPS: a free port of the loopback address by default, `false` for in-process use alone. */
  readonly listen?: ListenAddress | false
  readonly serviceCidrs?: readonly string[]
  /** Where nodes get ranges for their pods from. */
  readonly clusterCidrs?: readonly string[]
  /** Where Services of type LoadBalancer get addresses from, a range per family; none by default. */
  readonly loadBalancerPools?: readonly string[]
  /** Where nodes keep the volumes that are made for claims. */
  readonly volumesDirectory?: string
  /** What nodes and pods use, where the nodes are not simulated ones of this process. */
  readonly metricsSource?: MetricsSource
  readonly nodePortRange?: { readonly from: number; readonly to: number }
  /** Which controllers to run: all by default, none with `false`, or some by their names. */
  readonly controllers?: boolean | readonly string[]
  /** Simulated nodes: how many, or which; none by default. */
  readonly nodes?: number | readonly SimulatedNodeSpec[]
  /** Whether pods are given to nodes, and how; as kube-scheduler does by default. */
  readonly scheduler?: boolean | SchedulerConfiguration
  /** Returns as soon as the API is served; controllers, scheduler and nodes start when this resolves. */
  readonly background?: Promise<void>
  /** Features that v1.36 leaves off; they are on for the whole process from then on. */
  readonly featureGates?: readonly FeatureGate[]
  /** Further ways to show who one is: static tokens, OpenID Connect, a webhook, a proxy. */
  readonly authentication?: Omit<NonNullable<SecurityOptions['authentication']>, 'serviceAccounts'>
  /** Who decides besides the roles of the cluster. */
  readonly authorization?: NonNullable<SecurityOptions['authorization']>
  /** Names of admission plugins that are off by default, to turn on. */
  readonly enableAdmissionPlugins?: readonly string[]
  readonly disableAdmissionPlugins?: readonly string[]
  /** What is written down of requests, and where. */
  readonly audit?: NonNullable<ApiServerOptions['audit']>
  /** Which resources are encrypted in the store, and how. */
  readonly encryption?: NonNullable<ApiServerOptions['encryption']>
  /** What replaces it while the cluster runs. */
  readonly encryptionChanges?: NonNullable<ApiServerOptions['encryptionChanges']>
  /** Hears of new certificates, which replace those that grow old while the cluster runs; `kubeconfig` has them. */
  readonly onNewCertificates?: (cluster: Cluster, certificates: ClusterCertificates) => Promise<void> | void
  readonly clock?: Clock
  readonly random?: Random
  readonly log?: Logger
}

/** A running control plane. Dispose it to stop everything it started. */
export interface Cluster extends AsyncDisposable {
  /** Acts as an administrator, in the same process: no HTTP, no JSON. */
  readonly client: Client
  readonly transport: Transport
  /** `https://127.0.0.1:6443`; undefined if the cluster does not listen. */
  readonly url: string | undefined
  /** What kubectl needs, as the text of a kubeconfig file. */
  readonly kubeconfig: string
  readonly store: Store
  readonly certificates: Promise<ClusterCertificates>
  readonly nodes: SimulatedNodes | undefined
  /** Whether controllers, the scheduler or nodes have work under way; what waits for a later time does not count. */
  readonly isBusy: boolean
  /** Serves HTTPS at one more address, a free port of the loopback address by default; `kubeconfig` then leads there. */
  listen(address?: { readonly host?: string; readonly port?: number }): Promise<string>
  /** Acts as another user. */
  transportFor(user: { readonly name: string; readonly groups: readonly string[] }): Transport
}

const ADMIN = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }
export const DEFAULT_SERVICE_CIDRS = ['10.96.0.0/16']
const LOOPBACK = '127.0.0.1'

type ControlLoopsModule = typeof import('./start-control-loops.ts')
/** A quarter of the program, which whoever waits for the API need not wait for. */
const loadControlLoops = (): Promise<ControlLoopsModule> => import('./start-control-loops.ts')

/** Starts a Kubernetes control plane in this process. */
export async function startCluster(
  options: ClusterOptions = {},
  load: () => ControlLoopsModule | Promise<ControlLoopsModule> = loadControlLoops,
): Promise<Cluster> {
  const { clock = systemClock, random = systemRandom, log = silentLogger, listen = {} } = options
  const serviceCidrs = options.serviceCidrs ?? DEFAULT_SERVICE_CIDRS
  enableFeatures(options.featureGates ?? [])
  const choice = options.store ?? { type: 'memory' }
  const stack = new AsyncDisposables()
  try {
    const address = listen && {
      host: listen.host ?? LOOPBACK,
      port: await freePort(listen.host ?? LOOPBACK, listen.port),
    }
    // Made while the store opens and the API server starts; whoever fails first is the one reported.
    const also = listen === false ? [] : (listen.also ?? [])
    const here = machineAddress()
    const certificates = certificatesOf(options, serviceCidrs, [here, address ? address.host : LOOPBACK, ...also])
    certificates.catch(() => {})
    const place = { ...(options.dataDir !== undefined && { dataDir: options.dataDir }), clock, random }
    const store = stack.use(await openStore(choice, place))
    const loops: ControlLoops = {}
    const apiServer = stack.use(
      await startApiServer({
        store,
        sharedStore: choice.type === 'etcd',
        clock,
        random,
        log,
        serviceCidrs,
        ...security(options, certificates),
        // Connections are made in the real world, also when the cluster lives by another clock.
        kubelets: kubeletConnector(certificates, systemClock),
        enableAdmissionPlugins: options.enableAdmissionPlugins ?? [],
        disableAdmissionPlugins: [...pluginsWithoutControllers(options), ...(options.disableAdmissionPlugins ?? [])],
        ...(options.audit && { audit: options.audit }),
        ...(options.encryption && { encryption: options.encryption }),
        ...(options.encryptionChanges && { encryptionChanges: options.encryptionChanges }),
        ...(options.nodePortRange && { nodePortRange: options.nodePortRange }),
        ...metricsSourceOf(options, loops),
        ...(address && { advertise: { host: also[0] ?? here, port: address.port } }),
      }),
    )
    const listening: Listening[] = []
    const served = address ? await serve(apiServer, address, await certificates, listening) : undefined
    if (address) for (const host of also) await serve(apiServer, { ...address, host }, await certificates, listening)
    const start = async () => {
      const { startControlLoops } = await load()
      await startControlLoops(options, { apiServer, certificates, clock, random, log }, loops, stack)
    }
    const starting = options.background ? options.background.then(start) : start()
    starting.catch((error) => options.background && log.error('the control loops did not start', { error }))
    if (!options.background) await starting
    const parts = { apiServer, store, served, listening, loops, certificates }
    const running = cluster(parts, options.name ?? 'sampan', async () => {
      await starting.catch(() => {})
      await stack.dispose()
    })
    if (address) stack.use(await rotation(running, listening, options, log))
    return running
  } catch (error) {
    await stack.dispose()
    throw error
  }
}

function security({ authentication, authorization }: ClusterOptions, certificates: Promise<ClusterCertificates>) {
  return {
    authentication: { ...authentication, serviceAccounts: { keys: serviceAccountKeys(certificates) } },
    ...(authorization && { authorization }),
    rootCertificate: async () => (await certificates).ca.cert,
    frontProxy: async () => (await certificates).frontProxy(),
  }
}

function metricsSourceOf(options: ClusterOptions, loops: ControlLoops): { metricsSource?: MetricsSource } {
  if (options.metricsSource) return { metricsSource: options.metricsSource }
  return hasNodes(options) ? { metricsSource: metricsOf(loops) } : {}
}

const hasNodes = ({ nodes = 0 }: ClusterOptions) => (typeof nodes === 'number' ? nodes : nodes.length) > 0

/** The nodes start after the API server that serves what they tell. */
function metricsOf(loops: ControlLoops): MetricsSource {
  const metrics = () => loops.nodes?.simulated.metrics
  return {
    node: (name) => metrics()?.node(name),
    nodes: () => metrics()?.nodes() ?? [],
    pod: (namespace, name) => metrics()?.pod(namespace, name),
    pods: (namespace) => metrics()?.pods(namespace) ?? [],
  }
}

type Listening = Awaited<ReturnType<ApiServer['listen']>>

/** Certificates live by the time of the real world. */
async function rotation(running: Cluster, listening: readonly Listening[], options: ClusterOptions, log: Logger) {
  return rotateCertificates({
    certificates: await running.certificates,
    clock: systemClock,
    log,
    async onRenewed(renewed) {
      for (const one of listening) one.useCertificate(renewed.server)
      await options.onNewCertificates?.(running, renewed)
    },
  })
}

interface Served {
  readonly url: string
  readonly certificates: ClusterCertificates
}

function certificatesOf(options: ClusterOptions, serviceCidrs: readonly string[], hosts: readonly string[]) {
  const named = hosts.filter((host) => !isWildcard(host))
  const serverNames = apiServerNames(serviceCidrs, named)
  const dir = options.dataDir === undefined ? {} : { dir: join(options.dataDir, 'pki') }
  // Whoever connects checks them by the time of the real world, also when the cluster lives in another.
  return loadCertificates({ ...dir, clock: systemClock, serverNames })
}

async function serve(
  apiServer: ApiServer,
  address: { host: string; port: number },
  certificates: ClusterCertificates,
  listening: Listening[],
): Promise<Served> {
  // Read when somebody connects: in memory the certificate is made then.
  const tls = {
    get key() {
      return certificates.server.key
    },
    get cert() {
      return certificates.server.cert
    },
    clientCa: certificates.ca.cert,
  }
  const listener = await apiServer.listen({ ...address, tls })
  listening.push(listener)
  const { port } = listener
  const host = isWildcard(address.host) ? LOOPBACK : address.host
  return { url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`, certificates }
}

interface ClusterParts {
  readonly apiServer: ApiServer
  readonly store: Store
  served: Served | undefined
  readonly listening: Listening[]
  readonly loops: ControlLoops
  readonly certificates: Promise<ClusterCertificates>
}

function cluster(parts: ClusterParts, name: string, dispose: () => Promise<void>): Cluster {
  const { apiServer, loops } = parts
  const transport = apiServer.transport(ADMIN)
  return {
    client: createClient(transport),
    transport,
    get url() {
      return parts.served?.url
    },
    get kubeconfig() {
      if (!parts.served) throw new Error('this cluster does not listen, so no kubeconfig can reach it')
      const { ca, admin } = parts.served.certificates
      return renderKubeconfig({ name, server: parts.served.url, ca: ca.cert, client: admin })
    },
    store: parts.store,
    certificates: parts.certificates,
    get nodes() {
      return loops.nodes?.simulated
    },
    get isBusy() {
      return [loops.controllers, loops.scheduler, loops.nodes?.simulated].some((part) => part?.isBusy)
    },
    async listen({ host = LOOPBACK, port = 0 } = {}) {
      parts.served = await serve(apiServer, { host, port }, await parts.certificates, parts.listening)
      return parts.served.url
    },
    transportFor: (user) => apiServer.transport(user),
    [Symbol.asyncDispose]: dispose,
  }
}

const isWildcard = (host: string) => host === '0.0.0.0' || host === '::'

/** The API server writes its own address into the cluster before it listens, so a free port is chosen first. */
async function freePort(host: string, port = 0): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(port, host, resolve)
  })
  const bound = (probe.address() as AddressInfo).port
  await new Promise((resolve) => probe.close(resolve))
  return bound
}
