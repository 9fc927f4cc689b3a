import type { Logger } from '../../base/log.ts'
import { emptyReply } from '../plugin.ts'
import { RCODES } from '../wire/constants.ts'
import { decodeQuery } from '../wire/decode.ts'
import { encodeFailure, encodeReply } from '../wire/encode.ts'
import { MalformedMessage, type Query, type Reply } from '../wire/message.ts'
import type { Answerer } from './chain.ts'

export interface HandleOptions {
  readonly answer: Answerer
  readonly log: Logger
  /** Told each answer that may be kept ready. */
  readonly onKept?: (query: Query, reply: Reply) => void
}

export interface Asker {
  readonly client: string
  readonly transport: 'udp' | 'tcp'
}

/** From the bytes of a query to the bytes of its answer; undefined where silence is the answer. */
export type Handler = (packet: Buffer, asker: Asker) => Promise<Buffer | undefined> | Buffer | undefined

/** Without EDNS a client takes 512 bytes by UDP (RFC 1035), and never more than this. */
const PLAIN_UDP_SIZE = 512
const LARGEST_UDP_SIZE = 4096
const TCP_SIZE = 65_535

export function createHandler({ answer, log, onKept }: HandleOptions): Handler {
  return (packet, { client, transport }) => {
    let query: Query
    try {
      query = decodeQuery(packet)
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error
      return error.id === undefined ? undefined : encodeFailure(error.id, error.rcode)
    }
    const encoded = (reply: Reply) => {
      if (reply.keep) onKept?.(query, reply)
      return encode(query, reply, transport)
    }
    const failed = (error: unknown) => {
      log.error('a query failed', { name: query.question.name, error })
      return encode(query, emptyReply(RCODES.SERVFAIL), transport)
    }
    if (query.edns && query.edns.version > 0) return encode(query, emptyReply(RCODES.BADVERS), transport)
    try {
      const reply = answer(query, client, transport)
      return reply instanceof Promise ? reply.then(encoded).catch(failed) : encoded(reply)
    } catch (error) {
      return failed(error)
    }
  }
}

const encode = (query: Query, reply: Reply, transport: Asker['transport']) =>
  encodeReply(query, reply, { maxSize: sizeFor(query, transport), recursionAvailable: true })

function sizeFor({ edns }: Query, transport: Asker['transport']): number {
  if (transport === 'tcp') return TCP_SIZE
  return Math.min(Math.max(edns?.udpSize ?? 0, PLAIN_UDP_SIZE), LARGEST_UDP_SIZE)
}
