import { mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Node, Pod, Taint } from '../api/generated/core-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../api/kinds/core/service/kind.ts'
import { KUBERNETES_VERSION } from '../api/version.ts'
import type { Clock } from '../base/clock.ts'
import { deepEqual } from '../base/deep-equal.ts'
import { observeEventLoopDelay } from '../base/event-loop-delay.ts'
import type { Logger } from '../base/log.ts'
import { MetricsRegistry } from '../base/metrics.ts'
import type { Random } from '../base/random.ts'
import { type Client, createClient } from '../client/client.ts'
import { createEventRecorder, type EventRecorder } from '../client/events.ts'
import { createInformerFactory, type InformerFactory } from '../client/informer-factory.ts'
import type { Transport } from '../client/transport.ts'
import type { ContainerRuntime } from '../container-runtime/runtime.ts'
import { type DnsSettings, parseResolvConf } from './environment/dns.ts'
import type { EvictionThresholds } from './eviction/eviction.ts'
import { type Dial, dialDirectly } from './handlers/connection.ts'
import { Housekeeping } from './housekeeping/housekeeping.ts'
import type { ImageCollectionLimits } from './images/garbage-collection.ts'
import { ImagePuller } from './images/image-puller.ts'
import { folderMounter, type Mounter } from './mounter.ts'
import { type Machine, readMachine } from './node/machine.ts'
import type { NodeFacts, NodeSpec, Pressure } from './node/node-object.ts'
import { NodeReporter } from './node/node-reporter.ts'
import { KeyedBackoff } from './pod/backoff.ts'
import { admitPod, admitResize } from './pod-worker/admission.ts'
import { ObjectSource } from './pod-worker/object-source.ts'
import { PodWorkers } from './pod-worker/pod-workers.ts'
import { UserNamespaces } from './pod-worker/user-namespaces.ts'
import { recordContainer, type WorkerContext } from './pod-worker/worker-context.ts'
import { isAdministrator } from './server/defaults.ts'
import { kubeletConfiguration } from './server/kubelet-configuration.ts'
import { type KubeletAccess, KubeletServer, type KubeletServerOptions } from './server/kubelet-server.ts'
import { PodAccess } from './server/pod-access.ts'
import type { UpgradeHandler } from './server/stream-request.ts'
import { upgradeHandler } from './server/streaming/upgrade-handler.ts'
import { StatsCollector } from './stats/stats-collector.ts'

export type { EvictionThresholds } from './eviction/eviction.ts'
export type { Dial } from './handlers/connection.ts'
export type { KubeletAccess } from './server/kubelet-server.ts'
export type { ContainerLogOptions, PodAccess, PodName } from './server/pod-access.ts'
export type { StreamRequest, UpgradeHandler } from './server/stream-request.ts'

export interface KubeletOptions {
  /** As `system:node:<name>`, or whoever may do what a node does. */
  readonly transport: Transport
  readonly nodeName: string
  readonly runtime: ContainerRuntime
  /** Where pods' volumes and files are; made if it is not there. */
  readonly rootDir: string
  /** Where containers' logs are; below `rootDir` without. */
  readonly podLogsDir?: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** The node's own addresses, the primary one first. */
  readonly nodeAddresses: readonly string[]
  readonly clusterDns: readonly string[]
  readonly clusterDomain: string
  /** The file that pods with `dnsPolicy: Default` get. */
  readonly resolvConf?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly taints?: readonly Taint[]
  /** Told instead of what the machine has. */
  readonly capacity?: Readonly<Record<string, string>>
  readonly reserved?: Readonly<Record<string, string>>
  /** The port that the Node tells, when the server listens behind something else. */
  readonly port?: number
  /** Where the kubelet's own server listens; none without. */
  readonly listen?: { readonly host: string; readonly port: number }
  /** The server's certificate, and the authority of those who may ask. Needed to listen. */
  readonly tls?: KubeletServerOptions['tls']
  /** Whether they may; without it members of system:masters, and the API server. */
  readonly authorize?: (access: KubeletAccess) => boolean | Promise<boolean>
  /** Speaks the protocols of exec, attach and port-forward; WebSocket and SPDY without. */
  readonly upgrade?: UpgradeHandler
  readonly metrics?: MetricsRegistry
  /** When pods are evicted for the node's sake. */
  readonly evictionThresholds?: EvictionThresholds
  /** How full the disk may be before images that nobody uses are removed. */
  readonly imageLimits?: ImageCollectionLimits
  /** How many processes a pod may have; any number without, and with -1. */
  readonly podPidsLimit?: number
  /** Pods that name no seccomp profile get that of the runtime instead of none. */
  readonly seccompDefault?: boolean
  readonly mounter?: Mounter
  /** How to reach a pod from here; directly without. */
  readonly dial?: Dial
}

export interface Kubelet extends AsyncDisposable {
  readonly nodeName: string
  /** The Node as the API has it. */
  readonly node: Node | undefined
  /** Exec, attach, port-forward and logs of the node's pods, without any protocol. */
  readonly access: PodAccess
  /** Where its server listens. */
  readonly address: { readonly host: string; readonly port: number } | undefined
  /**
   * For a node that is about to end its pods: tells that they are not ready, so that they get no more traffic and nobody
   * who looks later takes them for running. An API server that does not answer is not waited for.
   */
  withdrawPods(): Promise<void>
}

const DEFAULT_PORT = 10250
const FIRST_RESTART_WAIT = 10_000
const LONGEST_RESTART_WAIT = 300_000
/** How long an API server may take to learn that pods go. */
const WITHDRAW_PATIENCE = 5000
const NO_PRESSURE: Pressure = { memory: false, disk: false, pid: false }

/** Registers the node and runs what is bound to it. Disposing lets go of the pods; they run on. */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const kubelet = new RunningKubelet(options)
  try {
    await kubelet.start()
    return kubelet
  } catch (error) {
    await kubelet[Symbol.asyncDispose]()
    throw error
  }
}

class RunningKubelet implements Kubelet {
  readonly nodeName: string
  readonly #options: KubeletOptions
  readonly #client: Client
  readonly #informers: InformerFactory
  readonly #events: EventRecorder
  readonly #source: ObjectSource
  #pressure: Pressure = NO_PRESSURE
  #reporter: NodeReporter | undefined
  #workers: PodWorkers | undefined
  #housekeeping: Housekeeping | undefined
  #server: KubeletServer | undefined
  #delays: Disposable | undefined
  #access: PodAccess | undefined
  address: { readonly host: string; readonly port: number } | undefined

  constructor(options: KubeletOptions) {
    const { transport, clock, random, log, nodeName } = options
    this.#options = options
    this.nodeName = nodeName
    this.#client = createClient(transport)
    this.#informers = createInformerFactory({ transport, clock, random, log })
    this.#events = createEventRecorder({
      client: this.#client,
      clock,
      random,
      log,
      component: 'kubelet',
      host: nodeName,
    })
    const onChange = (uid: string) => this.#workers?.get(uid)?.sourceChanged()
    this.#source = new ObjectSource({ transport, clock, random, log, onChange })
  }

  get node(): Node | undefined {
    return this.#reporter?.node
  }

  get access(): PodAccess {
    return this.#access!
  }

  async start(): Promise<void> {
    const { rootDir, runtime } = this.#options
    await mkdir(path.join(rootDir, 'pods'), { recursive: true })
    const version = await runtime.version()
    const machine = await readMachine(rootDir)
    this.#reporter = this.#nodeReporter(() => this.#facts(machine, version))
    const onNode = { fieldSelector: `spec.nodeName=${this.nodeName}` }
    const pods = this.#informers.informer<Pod>(podKind, onNode)
    const services = this.#informers.informer(serviceKind)
    const node = this.#informers.informer<Node>(nodeKind, { fieldSelector: `metadata.name=${this.nodeName}` })
    await this.#reporter.register()
    await this.#informers.synced()
    node.onChange((old, current) => {
      if (current || old?.metadata.uid === this.node?.metadata.uid) this.#reporter?.seen(current)
    })
    this.#reporter.start()
    this.#recordStart()
    const context = await this.#workerContext(version.name, () => services.list())
    this.#workers = new PodWorkers(context, pods)
    this.#access = new PodAccess(this.#workers, context)
    const stats = new StatsCollector(runtime, context.clock, rootDir)
    // Before the first pod: whoever sees one running may ask for its logs at once.
    await this.#listen(this.#access, stats, machine)
    await this.#workers.start()
    this.#housekeeping = this.#startHousekeeping(this.#workers, stats, context)
  }

  async withdrawPods(): Promise<void> {
    const patience = new AbortController()
    const isOver = this.#options.clock.sleep(WITHDRAW_PATIENCE, patience.signal).catch(() => {})
    await Promise.race([this.#workers?.withdraw(), isOver]).finally(() => patience.abort())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
    await this.#housekeeping?.stop()
    await this.#workers?.[Symbol.asyncDispose]()
    await this.#reporter?.stop()
    await this.#source[Symbol.asyncDispose]()
    await this.#informers[Symbol.asyncDispose]()
    await this.#events[Symbol.asyncDispose]()
    this.#delays?.[Symbol.dispose]()
  }

  async #listen(access: PodAccess, stats: StatsCollector, machine: Machine): Promise<void> {
    const {
      listen,
      tls,
      clock,
      authorize = isAdministrator,
      upgrade = upgradeHandler(clock),
      log,
      metrics,
    } = this.#options
    if (!listen) return
    if (!tls) throw new Error('a kubelet that listens needs a certificate')
    const { nodeName } = this
    const registry = metrics ?? new MetricsRegistry()
    this.#delays = observeEventLoopDelay(registry)
    registry
      .gauge('kubelet_running_pods', 'Number of pods that have a running pod sandbox')
      .labels()
      .readFrom(() => access.pods().filter(({ status }) => status?.phase === 'Running').length)
    const server = {
      nodeName,
      ...listen,
      tls,
      authorize,
      upgrade,
      logDir: path.dirname(this.#podLogsDir),
      access,
      stats,
      machine,
      metrics: registry,
      configuration: kubeletConfiguration({
        ...this.#options,
        listen,
        isAuthorizedElsewhere: this.#options.authorize !== undefined,
      }),
      clock,
      log,
    }
    await mkdir(this.#podLogsDir, { recursive: true })
    this.#server = new KubeletServer(server)
    this.address = await this.#server.listen()
    this.#reporter?.changed()
  }

  #startHousekeeping(workers: PodWorkers, stats: StatsCollector, context: WorkerContext): Housekeeping {
    const { evictionThresholds, imageLimits } = this.#options
    const { runtime, clock, log, events, puller } = context
    const housekeeping = new Housekeeping({
      runtime,
      workers,
      stats,
      podLogsDir: this.#podLogsDir,
      events,
      clock,
      log,
      ...(evictionThresholds && { thresholds: evictionThresholds }),
      ...(imageLimits && { imageLimits }),
      imagesLastUsed: puller.lastUsed,
      onPressure: (pressure) => {
        if (deepEqual(pressure, this.#pressure)) return
        this.#pressure = pressure
        this.#reporter?.changed()
      },
    })
    housekeeping.start()
    return housekeeping
  }

  get #nodeSpec(): NodeSpec {
    const {
      nodeName,
      nodeAddresses,
      labels = {},
      annotations = {},
      taints = [],
      capacity = {},
      reserved = {},
    } = this.#options
    return { name: nodeName, addresses: nodeAddresses, labels, annotations, taints, capacity, reserved }
  }

  #nodeReporter(facts: () => Promise<NodeFacts>): NodeReporter {
    const { clock, log } = this.#options
    return new NodeReporter({
      client: this.#client,
      clock,
      log,
      spec: this.#nodeSpec,
      facts,
      onCondition: ({ type, status, reason = '' }) => {
        const word =
          type === 'Ready' ? (status === 'True' ? 'NodeReady' : 'NodeNotReady') : reason.replace('Kubelet', 'Node')
        this.#recordNode(word, `Node ${this.nodeName} status is now: ${word}`)
      },
    })
  }

  async #facts(machine: Machine, version: NodeFacts['runtime']): Promise<NodeFacts> {
    const { runtime } = this.#options
    const port = this.#options.port ?? this.address?.port ?? DEFAULT_PORT
    const [status, images] = await Promise.all([runtime.status(), runtime.images.list()])
    return {
      machine,
      runtime: version,
      runtimeConditions: status.conditions,
      images,
      pressure: this.#pressure,
      port,
      devices: new Map(),
    }
  }

  get #podLogsDir(): string {
    return this.#options.podLogsDir ?? path.join(this.#options.rootDir, 'log', 'pods')
  }

  #recordStart(): void {
    this.#recordNode('Starting', 'Starting kubelet.')
  }

  /** Upstream names the node itself as the uid of what these events are about. */
  #recordNode(reason: string, message: string): void {
    const about = { kind: 'Node', apiVersion: 'v1', name: this.nodeName, uid: this.nodeName }
    this.#events.event(about, 'Normal', reason, message)
  }

  async #workerContext(runtimeName: string, services: WorkerContext['services']): Promise<WorkerContext> {
    const { runtime, rootDir, podPidsLimit, clock, log, mounter = folderMounter, dial, nodeAddresses } = this.#options
    const client = this.#client
    const events = this.#events
    const source = this.#source
    const node = () => this.node
    const record = (...args: [Pod, { name: string }, 'Normal' | 'Warning', string, string]) =>
      recordContainer({ events }, ...args)
    return {
      client,
      clock,
      log,
      events,
      runtime,
      runtimeName,
      nodeName: this.nodeName,
      rootDir,
      podLogsDir: this.#podLogsDir,
      podPidsLimit,
      seccompDefault: this.#options.seccompDefault ?? false,
      userNamespaces: new UserNamespaces(rootDir),
      dns: await this.#dns(),
      dial: dial ?? dialDirectly,
      userAgent: `kube-probe/${KUBERNETES_VERSION.slice(1, 5)}`,
      mounter,
      volumes: { client, clock, source, mounter, node },
      source,
      puller: new ImagePuller({ images: runtime.images, clock, record }),
      restartBackoff: new KeyedBackoff(FIRST_RESTART_WAIT, LONGEST_RESTART_WAIT),
      node,
      services,
      hostIPs: () => nodeAddresses,
      admit: (pod) => (this.node ? admitPod(pod, this.node, this.#workers?.active(pod) ?? []) : undefined),
      admitResize: (pod) => (this.node ? admitResize(pod, this.node, this.#workers?.active(pod) ?? []) : undefined),
      devices: async () => ({ env: new Map(), mounts: [], devices: [] }),
    }
  }

  async #dns(): Promise<DnsSettings> {
    const { clusterDns, clusterDomain, resolvConf = '/etc/resolv.conf' } = this.#options
    const host = parseResolvConf(await readFile(resolvConf, 'utf8').catch(() => ''))
    return { clusterDns, clusterDomain, host }
  }
}
