/** The DNS server of a node: the names of the cluster, and by other servers those of the world. */
import { configMapKind } from '../api/kinds/core/config-map.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { createInformerFactory, type InformerFactory } from '../client/informer-factory.ts'
import type { Transport } from '../client/transport.ts'
import { defaultCorefile } from './corefile/default-corefile.ts'
import { DnsMetrics } from './dns-metrics.ts'
import { LiveConfiguration } from './live-configuration.ts'
import { createHandler } from './server/handle.ts'
import { type ListenAddress, type Listening, listen } from './server/listen.ts'

export interface ClusterDnsOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly listen: readonly ListenAddress[]
  /** What stands for /etc/resolv.conf: where questions about other zones go, addresses with port 53. */
  readonly upstreams: readonly string[]
  readonly zone?: string
  /** The address of the Service kube-dns, where clients find this server. */
  readonly serviceAddress?: string
  /** Served unless there is a ConfigMap kube-system/coredns. */
  readonly corefile?: string
}

export interface ClusterDns extends AsyncDisposable {
  /** In the order of `listen`. */
  readonly ports: readonly number[]
}

const CONFIG_MAP = { namespace: 'kube-system', fieldSelector: 'metadata.name=coredns' }

export async function startClusterDns(options: ClusterDnsOptions): Promise<ClusterDns> {
  const { transport, clock, random, log, zone = 'cluster.local' } = options
  const informers = createInformerFactory({ transport, clock, random, log })
  const context = {
    ...{ clock, random, log, informers, metrics: new DnsMetrics() },
    upstreams: options.upstreams,
    serviceAddress: options.serviceAddress,
    host: options.listen[0]?.host ?? '127.0.0.1',
  }
  const live = new LiveConfiguration(context, options.corefile ?? defaultCorefile(zone))
  const handle = createHandler({ answer: live.answer, log })
  const listening: Listening[] = []
  const dispose = async () => {
    await Promise.all(listening.map((socket) => socket[Symbol.asyncDispose]()))
    await live[Symbol.asyncDispose]()
    await informers[Symbol.asyncDispose]()
  }
  try {
    for (const address of options.listen) listening.push(await listen(address, handle, clock))
  } catch (error) {
    await dispose()
    throw error
  }
  await live.start()
  followCorefile(informers, live)
  return { ports: listening.map(({ port }) => port), [Symbol.asyncDispose]: dispose }
}

function followCorefile(informers: InformerFactory, live: LiveConfiguration): void {
  informers.informer(configMapKind, CONFIG_MAP).onChange((_, now) => live.change(now?.data?.Corefile))
}
