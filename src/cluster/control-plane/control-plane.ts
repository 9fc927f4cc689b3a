/** What the parts of a control plane share. */
import { type AddressInfo, createServer } from 'node:net'
import type { ApiServer } from '../../apiserver/server.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { type Logger, silentLogger } from '../../base/log.ts'
import { type Random, systemRandom } from '../../base/random.ts'
import type { Client } from '../../client/client.ts'
import type { MetricsSource } from '../../client/metrics-source.ts'
import type { Transport } from '../../client/transport.ts'
import type { Store } from '../../store/store.ts'
import type { ClusterCertificates } from '../certificates.ts'
import type { Cluster, ClusterOptions } from '../cluster.ts'
import type { NodeConfiguration } from '../configuration.ts'
import { machineAddress } from '../credentials/server-names.ts'
import type { RealNodes } from '../local-nodes/real-nodes.ts'
import type { RunningControllers } from './start-controllers.ts'
import type { RunningScheduler } from './start-scheduler.ts'
import type { RunningSimulatedNodes } from './start-simulated-nodes.ts'

/** Nodes that run real pods, each in a process of its own. */
export interface RealNodesOptions {
  readonly count: number
  /** The program of a node's process, `sampan-node.js`. */
  readonly entry: string
  /** Holds the network ranges and a folder per node. */
  readonly dataDir: string
  readonly configuration: NodeConfiguration
  /** This process is root only in a user namespace of one user. */
  readonly rootless: boolean
  /** Other machines reach the cluster and join it: this one is a node as they are, in its own network. */
  readonly machine?: {
    /** An address of this machine, or `0.0.0.0` for all of them. */
    readonly listen: string
    /** The name of the node that this machine is. */
    readonly name: string
  }
  /** Upstream resolvers; those of this machine by default. */
  readonly upstreamDns?: readonly string[]
}

export interface ControlPlaneOptions extends ClusterOptions {
  readonly realNodes?: RealNodesOptions
  /** Loaded when the control loops start, unless given. */
  readonly controlLoopPrograms?: ControlLoopPrograms
}

/** Implemented by start-control-loops.ts. */
export interface ControlLoopPrograms {
  startControllersOf(plane: ControlPlane): Promise<void>
  startSchedulerOf(plane: ControlPlane): Promise<void>
  startSimulatedNodesOf(plane: ControlPlane): Promise<void>
}

export type Listener = Awaited<ReturnType<ApiServer['listen']>>

const LOOPBACK = '127.0.0.1'
const DEFAULT_SERVICE_CIDRS = ['10.96.0.0/16']

export class ControlPlane {
  readonly options: ControlPlaneOptions
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Where HTTPS is served; undefined for in-process use alone. */
  readonly address: { readonly host: string; readonly port: number } | undefined
  /** Further addresses with the same port; nodes find the API server at the first. */
  readonly alsoAt: string[]
  /** An address of this machine that others can reach. */
  readonly machineAddress = machineAddress()
  serviceCidrs: readonly string[]
  clusterCidrs: readonly string[] | undefined
  loadBalancerPools: readonly string[] | undefined
  volumesDirectory: string | undefined

  // Each is set by the part of that name.
  realNodes: RealNodes | undefined
  certificates!: Promise<ClusterCertificates>
  store!: Store
  apiServer!: ApiServer
  /** Acts as an administrator, in this process. */
  transport!: Transport
  client!: Client
  readonly listeners: Listener[] = []
  url: string | undefined
  controllers: RunningControllers | undefined
  scheduler: RunningScheduler | undefined
  simulatedNodes: RunningSimulatedNodes | undefined
  certificateRotation: AsyncDisposable | undefined
  kubeletMetrics: Disposable | undefined
  /** What parts do when certificates were renewed. */
  readonly onNewCertificates: ((certificates: ClusterCertificates) => Promise<void> | void)[] = []
  /** Usage of the nodes, from the part that starts them. */
  metrics: MetricsSource | undefined
  /** Set when all parts have started. */
  cluster: Cluster | undefined

  /** Chooses the port: the API server writes its own address into the cluster before it listens. */
  static async prepare(options: ControlPlaneOptions): Promise<ControlPlane> {
    const { listen = {} } = options
    if (listen === false) return new ControlPlane(options, undefined)
    const { host = LOOPBACK } = listen
    return new ControlPlane(options, { host, port: await freePort(host, listen.port) })
  }

  private constructor(options: ControlPlaneOptions, address: ControlPlane['address']) {
    const { clock = systemClock, random = systemRandom, log = silentLogger, listen = {} } = options
    this.options = options
    this.clock = clock
    this.random = random
    this.log = log
    this.address = address
    this.alsoAt = listen === false ? [] : [...(listen.also ?? [])]
    this.serviceCidrs = options.serviceCidrs ?? DEFAULT_SERVICE_CIDRS
    this.clusterCidrs = options.clusterCidrs
    this.loadBalancerPools = options.loadBalancerPools
    this.volumesDirectory = options.volumesDirectory
  }

  /** Other control planes work on the same store. */
  get isShared(): boolean {
    return this.options.store?.type === 'etcd'
  }
}

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
