/** Turns the addresses of an answer round, so that clients who take the first spread over all. */
import type { Random } from '../../../base/random.ts'
import { noOptions, oneOf } from '../../corefile/options.ts'
import { type DnsPlugin, nothingHeld, type PluginKind, whenAnswered } from '../../plugin.ts'
import type { DnsRecord, Reply } from '../../wire/message.ts'

export const loadbalanceKind: PluginKind = {
  name: 'loadbalance',
  setup(directive, { random }) {
    noOptions(directive)
    if (directive.args.length > 0) oneOf(directive, directive.args[0], ['round_robin'])
    return loadbalancePlugin({ random })
  },
}

export function loadbalancePlugin({ random }: { readonly random: Pick<Random, 'next'> }): DnsPlugin {
  return {
    name: 'loadbalance',
    answer: (_, next) =>
      whenAnswered(next(), (reply) => {
        const addresses = reply.answers.filter(isAddress)
        if (addresses.length < 2) return reply
        const by = Math.floor(random.next() * addresses.length)
        const { keep } = reply
        const turned = { ...reply, answers: turnedBy(reply.answers, addresses, by) }
        return keep ? { ...turned, keep: { ...keep, variants: () => allTurns(reply, addresses) } } : turned
      }),
    ...nothingHeld,
  }
}

/** More ways to turn an answer are not kept ready. */
const MAX_VARIANTS = 16

function allTurns(reply: Reply, addresses: readonly DnsRecord[]): readonly Reply[] {
  const count = Math.min(addresses.length, MAX_VARIANTS)
  return Array.from({ length: count }, (_, by) => ({ ...reply, answers: turnedBy(reply.answers, addresses, by) }))
}

/** Aliases stay in front, in order: the addresses belong to where they lead. */
function turnedBy(records: readonly DnsRecord[], addresses: readonly DnsRecord[], by: number): readonly DnsRecord[] {
  const others = records.filter((record) => !isAddress(record))
  return [...others, ...addresses.slice(by), ...addresses.slice(0, by)]
}

const isAddress = ({ data }: DnsRecord) => data.type === 'A' || data.type === 'AAAA'
