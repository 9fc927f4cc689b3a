import type { KubernetesObject } from '../api/meta/object.ts'
import { systemClock } from '../base/clock.ts'
import { type Logger, silentLogger } from '../base/log.ts'
import { seededRandom, systemRandom } from '../base/random.ts'
import type { Client } from '../client/client.ts'
import type { ResourceType, Transport } from '../client/transport.ts'
import { type Cluster, startCluster as startControlPlane } from '../cluster/index.ts'
import type { SimulatedMetrics, SimulatedNodeSpec } from '../kubelet/simulated-node.ts'
import { applyManifest, type Manifest } from './apply.ts'
import { ClusterTime, type TestClock } from './test-clock.ts'

export type { Client, ResourceClient } from '../client/client.ts'
export type { ResourceType, Transport } from '../client/transport.ts'
export type { SimulatedMetrics, SimulatedNodeSpec } from '../kubelet/simulated-node.ts'
export type { Manifest } from './apply.ts'
export type { TestClock } from './test-clock.ts'

export interface TestClusterOptions {
  /** Simulated nodes: how many, or which. One by default. */
  readonly nodes?: number | readonly SimulatedNodeSpec[]
  /** Which controllers run: all by default, none with `false`, or some by their names. */
  readonly controllers?: boolean | readonly string[]
  /** The same seed gives the same names and uids. Time then stands still unless it is moved, so that runs are alike. */
  readonly seed?: number
  /** Whether time goes on by itself; by default it does if there is no seed. */
  readonly time?: 'flowing' | 'standing'
  /** When the cluster's time begins: the first moment of 2026 by default with a seed, else now. */
  readonly start?: Date
  readonly log?: Logger
}

/** A whole cluster inside a test. Dispose it and nothing is left. */
export interface TestCluster extends AsyncDisposable {
  /** Acts as an administrator, in the same process. */
  readonly client: Client
  readonly transport: Transport
  readonly clock: TestClock
  /** The names of the nodes. */
  readonly nodes: readonly string[]
  /** What pods and nodes use, as their annotations say. */
  readonly metrics: SimulatedMetrics | undefined
  /** For kubectl and client libraries: from the first time it is asked for, the cluster listens on a free loopback port. */
  readonly kubeconfig: Promise<string>
  /** Where it listens, as `https://127.0.0.1:41234`. */
  readonly url: Promise<string>
  /** Applies manifests and returns what they became. */
  apply(manifest: Manifest, options?: { readonly namespace?: string }): Promise<KubernetesObject[]>
  /** Any object by its resource and name; undefined if there is none. */
  find<T extends KubernetesObject = KubernetesObject>(
    type: ResourceType,
    name: string,
    namespace?: string,
  ): Promise<T | undefined>
  /** Resolves when the controllers, the scheduler and the nodes have nothing left to do. */
  settled(): Promise<void>
  /** The node's machine dies: no heartbeat any more, its pods stay as they were until somebody notices. */
  kill(node: string): void
  /** It comes back. */
  revive(node: string): Promise<void>
  dispose(): Promise<void>
}

const SEEDED_START = Date.UTC(2026, 0, 1)

/** Starts a cluster in this process: API server, controllers, scheduler and simulated nodes; no files, no privileges. */
export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { seed, log = silentLogger } = options
  const isFlowing = (options.time ?? (seed === undefined ? 'flowing' : 'standing')) === 'flowing'
  let cluster: Cluster | undefined
  const start = options.start?.getTime() ?? (seed === undefined ? systemClock.now() : SEEDED_START)
  const time = new ClusterTime(start, isFlowing, (turns) => quiet(cluster, turns))
  try {
    cluster = await startControlPlane({
      listen: false,
      nodes: options.nodes ?? 1,
      controllers: options.controllers ?? true,
      clock: time.clock,
      random: seed === undefined ? systemRandom : seededRandom(seed),
      log,
    })
    return testCluster(cluster, time)
  } catch (error) {
    time[Symbol.dispose]()
    throw error
  }
}

async function quiet(cluster: Cluster | undefined, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await new Promise(setImmediate)
    if (cluster?.isBusy) turn = -1
  }
}

function testCluster(cluster: Cluster, time: ClusterTime): TestCluster {
  const { client, nodes } = cluster
  let listening: Promise<string> | undefined
  const listen = () => {
    listening ??= cluster.listen()
    return listening
  }
  const dispose = async () => {
    time[Symbol.dispose]()
    await cluster[Symbol.asyncDispose]()
  }
  const simulated = () => {
    if (!nodes) throw new Error('this cluster has no nodes: startCluster({ nodes: 3 })')
    return nodes
  }
  return {
    client,
    transport: cluster.transport,
    clock: time,
    nodes: nodes?.names ?? [],
    metrics: nodes?.metrics,
    get kubeconfig() {
      return listen().then(() => cluster.kubeconfig)
    },
    get url() {
      return listen()
    },
    apply: (manifest, { namespace = 'default' } = {}) => applyManifest(client, manifest, namespace),
    async find<T extends KubernetesObject>(type: ResourceType, name: string, namespace = 'default') {
      const resource = client.resource<T>(type)
      const scoped = type.namespaced ? resource.namespace(namespace) : resource
      return scoped.get(name).catch((error: { code?: number }) => {
        if (error.code === 404) return undefined
        throw error
      })
    },
    settled: () => time.settled(),
    kill: (node) => simulated().kill(node),
    revive: (node) => simulated().revive(node),
    dispose,
    [Symbol.asyncDispose]: dispose,
  }
}
