/** Turns the addresses of an answer round, so that clients who take the first spread over all. */
import type { Random } from '../../../base/random.ts'
import { type DnsPlugin, whenAnswered } from '../../plugin.ts'
import type { DnsRecord } from '../../wire/message.ts'

export function loadbalancePlugin({ random }: { readonly random: Pick<Random, 'next'> }): DnsPlugin {
  return {
    name: 'loadbalance',
    answer: (_, next) =>
      whenAnswered(next(), (reply) => ({ ...reply, answers: turned(reply.answers, () => random.next()) })),
    async [Symbol.asyncDispose]() {},
  }
}

/** Aliases stay in front, in order: the addresses belong to where they lead. */
function turned(records: readonly DnsRecord[], random: () => number): readonly DnsRecord[] {
  const addresses = records.filter(isAddress)
  if (addresses.length < 2) return records
  const by = Math.floor(random() * addresses.length)
  const others = records.filter((record) => !isAddress(record))
  return [...others, ...addresses.slice(by), ...addresses.slice(0, by)]
}

const isAddress = ({ data }: DnsRecord) => data.type === 'A' || data.type === 'AAAA'
