import { type Answer, type DnsPlugin, type DnsRequest, emptyReply } from '../plugin.ts'
import { RCODES } from '../wire/constants.ts'
import type { Query, Question } from '../wire/message.ts'
import { isWithin } from '../wire/names.ts'

/** The plugins that answer for some zones, in order. */
export interface ZoneChain {
  readonly zones: readonly string[]
  readonly plugins: readonly DnsPlugin[]
}

export type Answerer = (query: Query, client: string, transport: 'udp' | 'tcp') => Answer

/** An alias of an alias of an alias: nobody means that. */
const MAX_RESOLVE_DEPTH = 8

/** The chain of the longest zone answers; whoever is the last in it and lets the next one answer gets a refusal. */
export function createAnswerer(chains: readonly ZoneChain[]): Answerer {
  const byZone = chains
    .flatMap(({ zones, plugins }) => zones.map((zone) => ({ zone, plugins })))
    .sort((a, b) => b.zone.length - a.zone.length)
  const run = (query: Query, client: string, transport: 'udp' | 'tcp', depth: number): Answer => {
    if (depth > MAX_RESOLVE_DEPTH) return emptyReply(RCODES.SERVFAIL)
    const { question } = query
    const plugins = byZone.find(({ zone }) => isWithin(question.name, zone))?.plugins ?? []
    const resolve = (other: Question) =>
      run({ ...query, question: other, asked: other.name }, client, transport, depth + 1)
    const step = (index: number, request: DnsRequest): Answer => {
      const plugin = plugins[index]
      if (!plugin) return emptyReply(RCODES.REFUSED)
      return plugin.answer(request, (changed) => step(index + 1, changed ?? request))
    }
    return step(0, { query, question, client, transport, resolve })
  }
  return (query, client, transport) => run(query, client, transport, 0)
}
