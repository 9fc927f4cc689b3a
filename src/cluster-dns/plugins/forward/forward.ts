/** Asks other servers what nobody here knows. One that does not answer is left aside while another does. */
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { type DnsPlugin, emptyReply } from '../../plugin.ts'
import { RCODES } from '../../wire/constants.ts'
import type { Query, Reply } from '../../wire/message.ts'
import { canonicalName, isWithin } from '../../wire/names.ts'
import { Upstream, type UpstreamAddress } from './upstream.ts'

export interface ForwardOptions {
  /** Which names are passed on; the empty name stands for all. */
  readonly from: string
  readonly to: readonly UpstreamAddress[]
  readonly policy?: 'random' | 'round_robin' | 'sequential'
  readonly clock: Clock
  readonly random: Pick<Random, 'next'>
  /** Milliseconds one server has for its answer. */
  readonly timeout?: number
  readonly maxConcurrent?: number
}

const TIMEOUT = 2000
const MAX_CONCURRENT = 1000
/** So many silences in a row, and a server is asked last. */
const MAX_FAILURES = 2

export function forwardPlugin(options: ForwardOptions): DnsPlugin {
  const { clock, random, timeout = TIMEOUT, maxConcurrent = MAX_CONCURRENT, policy = 'random' } = options
  const from = canonicalName(options.from)
  const upstreams = options.to.map((address) => new Upstream(address, { clock, random, timeout }))
  let turn = 0
  let inFlight = 0

  function inOrder(): readonly Upstream[] {
    if (policy === 'random') turn = Math.floor(random.next() * upstreams.length)
    else if (policy === 'round_robin') turn = (turn + 1) % upstreams.length
    const turned = [...upstreams.slice(turn), ...upstreams.slice(0, turn)]
    const isWell = (upstream: Upstream) => upstream.failures < MAX_FAILURES
    return [...turned.filter(isWell), ...turned.filter((upstream) => !isWell(upstream))]
  }

  async function ask(query: Query, transport: 'udp' | 'tcp'): Promise<Reply> {
    inFlight++
    try {
      for (const upstream of inOrder()) {
        try {
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

  return {
    name: 'forward',
    answer({ question, query, transport }, next) {
      if (!isWithin(question.name, from) || upstreams.length === 0) return next()
      return inFlight >= maxConcurrent ? emptyReply(RCODES.REFUSED) : ask(query, transport)
    },
    async [Symbol.asyncDispose]() {},
  }
}
