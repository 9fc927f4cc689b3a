/** Asks other servers what nobody here knows. One that does not answer is left aside until it does again. */
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import type { DnsMetrics } from '../../dns-metrics.ts'
import { type DnsPlugin, emptyReply, type PluginKind } from '../../plugin.ts'
import { RCODES } from '../../wire/constants.ts'
import type { Query, Reply } from '../../wire/message.ts'
import { isWithin } from '../../wire/names.ts'
import { type ForwardOptions, forwardOptions } from './options.ts'
import { Upstream } from './upstream.ts'

export const forwardKind: PluginKind = {
  name: 'forward',
  setup: (directive, context) => forwardPlugin(forwardOptions(directive, context.upstreams), context),
}

/** Each query has a socket of its own. */
const MOST_CONCURRENT = 10_000

export interface ForwardContext {
  readonly clock: Clock
  readonly random: Pick<Random, 'next'>
  readonly metrics?: DnsMetrics
}

export function forwardPlugin(options: ForwardOptions, context: ForwardContext): DnsPlugin {
  const { random, metrics } = context
  const upstreams = options.to.map((address) => new Upstream(address, options, context))
  let turn = 0
  let inFlight = 0

  /** In the order to ask them; those that are down come last, since nothing better may be left. */
  function inOrder(): readonly Upstream[] {
    if (options.policy === 'random') turn = Math.floor(random.next() * upstreams.length)
    else if (options.policy === 'round_robin') turn = (turn + 1) % upstreams.length
    const turned = [...upstreams.slice(turn), ...upstreams.slice(0, turn)]
    return [...turned.filter((upstream) => !upstream.isDown), ...turned.filter((upstream) => upstream.isDown)]
  }

  async function ask(query: Query, transport: 'udp' | 'tcp'): Promise<Reply> {
    inFlight++
    try {
      for (const upstream of inOrder()) {
        try {
          metrics?.forwarded(upstream.name)
          return await upstream.ask(query, transport)
        } catch {
          // The next one may do better.
        }
      }
      return emptyReply(RCODES.SERVFAIL)
    } finally {
      inFlight--
    }
  }

  function transportFor(asked: 'udp' | 'tcp'): 'udp' | 'tcp' {
    if (options.forceTcp) return 'tcp'
    return options.preferUdp ? 'udp' : asked
  }

  return {
    name: 'forward',
    answer({ question, query, transport }, next) {
      if (upstreams.length === 0 || !isWithin(question.name, options.from)) return next()
      if (options.except.some((zone) => isWithin(question.name, zone))) return next()
      if (inFlight >= (options.maxConcurrent || MOST_CONCURRENT)) {
        metrics?.forwardRejects.increment()
        return emptyReply(RCODES.REFUSED)
      }
      return ask(query, transportFor(transport))
    },
    async [Symbol.asyncDispose]() {
      for (const upstream of upstreams) upstream[Symbol.dispose]()
    },
  }
}
