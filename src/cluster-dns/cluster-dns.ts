/** The DNS server of a node: the names of the cluster, and by other servers those of the world. */

import { configMapKind } from '../api/kinds/core/config-map.ts'
import { NAMESPACE } from '../api/meta/well-known.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { createInformerFactory } from '../client/informer-factory.ts'
import type { Transport } from '../client/transport.ts'
import { defaultCorefile } from './corefile/default-corefile.ts'
import { DnsMetrics } from './dns-metrics.ts'
import { LiveConfiguration, type LiveContext } from './live-configuration.ts'
import { KeptAnswers } from './server/batched/kept-answers.ts'
import type { ReadyAnswers } from './server/batched/listen-batched.ts'
import { BUFFER_SIZE } from './server/batched/worker-messages.ts'
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
  /** Whether a worker answers by batches, where the system can do that; true unless told. */
  readonly batched?: boolean
}

export interface ClusterDns extends AsyncDisposable {
  /** In the order of `listen`. */
  readonly ports: readonly number[]
}

const CONFIG_MAP = { namespace: NAMESPACE.system, fieldSelector: 'metadata.name=coredns' }

export async function startClusterDns(options: ClusterDnsOptions): Promise<ClusterDns> {
  const { transport, clock, random, log, zone = 'cluster.local' } = options
  const informers = createInformerFactory({ transport, clock, random, log })
  const kept = new KeptAnswers({ maxSize: BUFFER_SIZE })
  const listening: Listening[] = []
  const context: LiveContext = {
    ...{ clock, random, log, informers, metrics: new DnsMetrics() },
    upstreams: options.upstreams,
    serviceAddress: options.serviceAddress,
    host: options.listen[0]?.host ?? '127.0.0.1',
    onChange(dependency) {
      if (dependency === undefined) kept.clear()
      else kept.changed(dependency)
      for (const socket of listening) socket.ready?.serialChanged()
    },
  }
  const live = new LiveConfiguration(context, options.corefile ?? defaultCorefile(zone))
  const handle = createHandler({
    answer: live.answer,
    log,
    onKept: (query, reply) => (live.answersMayBeKept ? kept.keep(query, reply) : undefined),
  })
  const seed = Math.floor(random.next() * 0x7fffffff)
  const batched = { handle, kept, serial: () => live.serial, seed, clock, log }
  const dispose = async () => {
    await Promise.all(listening.map((socket) => socket[Symbol.asyncDispose]()))
    await live[Symbol.asyncDispose]()
    await informers[Symbol.asyncDispose]()
  }
  try {
    for (const address of options.listen) {
      const socket = await listen(address, { handle, clock, log, batched, byWorker: options.batched ?? true })
      listening.push(socket)
      if (socket.ready) countReadyAnswers(socket.ready, address.host, kept, context.metrics)
    }
    await live.start()
  } catch (error) {
    await dispose()
    throw error
  }
  informers.informer(configMapKind, CONFIG_MAP).onChange((_, now) => live.change(now?.data?.Corefile))
  return { ports: listening.map(({ port }) => port), [Symbol.asyncDispose]: dispose }
}

/** What was answered without the plugins is in the figures too. */
function countReadyAnswers({ hits }: ReadyAnswers, host: string, kept: KeptAnswers, metrics: DnsMetrics): void {
  const told = new Float64Array(hits.length)
  metrics.beforeScrape(() => {
    for (const [what, slot] of kept.slots) {
      const [type = '', rcode = ''] = what.split(' ')
      const count = hits[slot]!
      if (count > told[slot]!) metrics.readyAnswers(host, type, rcode, count - told[slot]!)
      told[slot] = count
    }
  })
}
