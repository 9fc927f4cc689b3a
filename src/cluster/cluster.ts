/** What `startCluster()` takes and gives. */
import type { SecurityOptions } from '../apiserver/security.ts'
import type { ApiServerOptions } from '../apiserver/server.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Client } from '../client/client.ts'
import type { MetricsSource } from '../client/metrics-source.ts'
import type { Transport } from '../client/transport.ts'
import type { SimulatedNodeSpec, SimulatedNodes } from '../kubelet/simulated-node.ts'
import type { SchedulerConfiguration } from '../scheduler/configuration.ts'
import type { Store } from '../store/store.ts'
import type { ClusterCertificates } from './certificates.ts'
import type { ControlPlaneConfiguration } from './configuration.ts'
import type { PartStatus } from './part.ts'
import type { StoreChoice } from './store-choice.ts'

export interface ListenAddress {
  readonly host?: string
  readonly port?: number
  /** Further addresses, on the same port: nodes and pods find the API server at the first of these. */
  readonly also?: readonly string[]
}

/** Also has every setting of configuration.ts whose scope is the control plane. */
export interface ClusterOptions extends ControlPlaneConfiguration {
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
  /** Usage of nodes and pods, where the nodes are not simulated ones of this process. */
  readonly metricsSource?: MetricsSource
  readonly nodePortRange?: { readonly from: number; readonly to: number }
  /** Which controllers to run: all by default, none with `false`, or some by their names. */
  readonly controllers?: boolean | readonly string[]
  /** Simulated nodes: how many, or which; none by default. */
  readonly nodes?: number | readonly SimulatedNodeSpec[]
  /** Whether pods are given to nodes, and how; as kube-scheduler does by default. */
  readonly scheduler?: boolean | SchedulerConfiguration
  /** Returns as soon as the API is served; controllers, scheduler and simulated nodes start when this resolves. */
  readonly background?: Promise<void>
  /** Further authenticators: static tokens, OpenID Connect, a webhook, a proxy. */
  readonly authentication?: Omit<NonNullable<SecurityOptions['authentication']>, 'serviceAccounts'>
  /** Further authorizers besides RBAC. */
  readonly authorization?: NonNullable<SecurityOptions['authorization']>
  /** Which requests are logged, and where. */
  readonly audit?: NonNullable<ApiServerOptions['audit']>
  /** Which resources are encrypted in the store, and how. */
  readonly encryption?: NonNullable<ApiServerOptions['encryption']>
  /** What replaces it while the cluster runs. */
  readonly encryptionChanges?: NonNullable<ApiServerOptions['encryptionChanges']>
  /** Called with new certificates when old ones were replaced while the cluster runs; `kubeconfig` has them. */
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
  /** The text of a kubeconfig file for kubectl. */
  readonly kubeconfig: string
  readonly store: Store
  readonly certificates: Promise<ClusterCertificates>
  readonly nodes: SimulatedNodes | undefined
  /** Whether controllers, the scheduler or nodes have work under way; work that waits for a later time does not count. */
  readonly isBusy: boolean
  /** What the cluster consists of, in the order of its start. */
  readonly parts: readonly PartStatus[]
  /** Serves HTTPS at one more address, a free port of the loopback address by default; `kubeconfig` then leads there. */
  listen(address?: { readonly host?: string; readonly port?: number }): Promise<string>
  /** Acts as another user. */
  transportFor(user: { readonly name: string; readonly groups: readonly string[] }): Transport
}
