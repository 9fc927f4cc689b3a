/** The DNS server of a node: the names of the cluster, and by other servers those of the world. */
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { createInformerFactory } from '../client/informer-factory.ts'
import type { Transport } from '../client/transport.ts'
import type { DnsPlugin } from './plugin.ts'
import { cachePlugin } from './plugins/cache/cache.ts'
import { forwardPlugin } from './plugins/forward/forward.ts'
import { followCluster } from './plugins/kubernetes/cluster-objects.ts'
import { kubernetesPlugin } from './plugins/kubernetes/kubernetes.ts'
import { loadbalancePlugin } from './plugins/loadbalance/loadbalance.ts'
import { createHandler } from './server/handle.ts'
import { type ListenAddress, type Listening, listen } from './server/listen.ts'

export interface ClusterDnsOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly listen: readonly ListenAddress[]
  /** Where questions about other zones go: addresses, with port 53. */
  readonly upstreams: readonly string[]
  readonly zone?: string
  /** The address of the Service kube-dns, where clients find this server. */
  readonly serviceAddress?: string
}

export interface ClusterDns extends AsyncDisposable {
  /** In the order of `listen`. */
  readonly ports: readonly number[]
}

const TTL = 30
const DNS_PORT = 53

export async function startClusterDns(options: ClusterDnsOptions): Promise<ClusterDns> {
  const { transport, clock, random, log } = options
  const informers = createInformerFactory({ transport, clock, random, log })
  const plugins = defaultPlugins(options, followCluster(informers, { pods: false }))
  const handle = createHandler({ plugins, log })
  const listening: Listening[] = []
  const dispose = async () => {
    await Promise.all(listening.map((socket) => socket[Symbol.asyncDispose]()))
    await Promise.all(plugins.map((plugin) => plugin[Symbol.asyncDispose]()))
    await informers[Symbol.asyncDispose]()
  }
  try {
    for (const address of options.listen) listening.push(await listen(address, handle, clock))
  } catch (error) {
    await dispose()
    throw error
  }
  return { ports: listening.map(({ port }) => port), [Symbol.asyncDispose]: dispose }
}

/** Turned round last of all, so that what is kept is turned anew for everyone. */
function defaultPlugins(options: ClusterDnsOptions, objects: ReturnType<typeof followCluster>): readonly DnsPlugin[] {
  const { clock, random, zone = 'cluster.local', serviceAddress } = options
  const now = () => clock.now()
  return [
    loadbalancePlugin({ random }),
    kubernetesPlugin({
      objects,
      zones: [zone, 'in-addr.arpa', 'ip6.arpa'],
      pods: 'insecure',
      ttl: TTL,
      fallthrough: ['in-addr.arpa', 'ip6.arpa'],
      ownAddresses: () => (serviceAddress === undefined ? [] : [serviceAddress]),
      now,
    }),
    cachePlugin({ now }),
    forwardPlugin({ from: '', to: options.upstreams.map((host) => ({ host, port: DNS_PORT })), clock, random }),
  ]
}
