import type { Logger } from '../../base/log.ts'
import { type Answer, type DnsPlugin, type DnsRequest, emptyReply } from '../plugin.ts'
import { RCODES } from '../wire/constants.ts'
import { decodeQuery } from '../wire/decode.ts'
import { encodeFailure, encodeReply } from '../wire/encode.ts'
import { MalformedMessage, type Query, type Question, type Reply } from '../wire/message.ts'

export interface HandleOptions {
  readonly plugins: readonly DnsPlugin[]
  readonly log: Logger
}

export interface Asker {
  readonly client: string
  readonly transport: 'udp' | 'tcp'
}

/** Without EDNS a client takes 512 bytes by UDP (RFC 1035), and never more than this. */
const PLAIN_UDP_SIZE = 512
const LARGEST_UDP_SIZE = 4096
const TCP_SIZE = 65_535
/** An alias of an alias of an alias: nobody means that. */
const MAX_RESOLVE_DEPTH = 8

/** From the bytes of a query to the bytes of its answer; undefined where silence is the answer. */
export function createHandler({
  plugins,
  log,
}: HandleOptions): (packet: Buffer, asker: Asker) => Promise<Buffer | undefined> | Buffer | undefined {
  const chain = createChain(plugins)
  const encode = (query: Query, reply: Reply, transport: Asker['transport']) =>
    encodeReply(query, reply, { maxSize: sizeFor(query, transport), recursionAvailable: true })
  return (packet, { client, transport }) => {
    let query: Query
    try {
      query = decodeQuery(packet)
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error
      return error.id === undefined ? undefined : encodeFailure(error.id, error.rcode)
    }
    const failed = (error: unknown) => {
      log.error('a query failed', { name: query.question.name, error })
      return encode(query, emptyReply(RCODES.SERVFAIL), transport)
    }
    if (query.edns && query.edns.version > 0) return encode(query, emptyReply(RCODES.BADVERS), transport)
    try {
      const answer = chain(query, client, transport)
      if (!(answer instanceof Promise)) return encode(query, answer, transport)
      return answer.then((reply) => encode(query, reply, transport)).catch(failed)
    } catch (error) {
      return failed(error)
    }
  }
}

function sizeFor({ edns }: Query, transport: Asker['transport']): number {
  if (transport === 'tcp') return TCP_SIZE
  return Math.min(Math.max(edns?.udpSize ?? 0, PLAIN_UDP_SIZE), LARGEST_UDP_SIZE)
}

/** The plugins in order; whoever is the last and lets the next one answer gets a refusal. */
export function createChain(plugins: readonly DnsPlugin[]) {
  const run = (query: Query, client: string, transport: Asker['transport'], depth: number): Answer => {
    if (depth > MAX_RESOLVE_DEPTH) return emptyReply(RCODES.SERVFAIL)
    const request: DnsRequest = {
      query,
      question: query.question,
      client,
      transport,
      resolve: (question: Question) => run({ ...query, question, asked: question.name }, client, transport, depth + 1),
    }
    const step = (index: number): Answer => {
      const plugin = plugins[index]
      return plugin ? plugin.answer(request, () => step(index + 1)) : emptyReply(RCODES.REFUSED)
    }
    return step(0)
  }
  return (query: Query, client: string, transport: Asker['transport']) => run(query, client, transport, 0)
}
