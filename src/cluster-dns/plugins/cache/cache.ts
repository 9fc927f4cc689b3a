/** Keeps answers as long as they may be kept: positive ones by their TTL, negative ones by the zone's SOA (RFC 2308). */
import { type Answer, type DnsPlugin, emptyReply, whenAnswered } from '../../plugin.ts'
import { RCODES } from '../../wire/constants.ts'
import type { DnsRecord, Question, Reply } from '../../wire/message.ts'

export interface CacheOptions {
  readonly now: () => number
  /** Seconds, at most. */
  readonly maxTtl?: number
  readonly maxNegativeTtl?: number
  /** How many answers are kept; the oldest go first. */
  readonly capacity?: number
}

interface Entry {
  readonly reply: Reply
  readonly storedAt: number
  readonly expiresAt: number
}

const MAX_TTL = 3600
const MAX_NEGATIVE_TTL = 1800
const CAPACITY = 10_000
/** A reply that failed is not asked for again at once. */
const FAILURE_TTL = 5

export function cachePlugin(options: CacheOptions): DnsPlugin {
  const { now, maxTtl = MAX_TTL, maxNegativeTtl = MAX_NEGATIVE_TTL, capacity = CAPACITY } = options
  const entries = new Map<string, Entry>()
  const underWay = new Map<string, Promise<Reply>>()

  function store(key: string, reply: Reply): Reply {
    const ttl = Math.min(lifetimeOf(reply), isNegative(reply) ? maxNegativeTtl : maxTtl)
    entries.delete(key)
    if (ttl <= 0) return reply
    if (entries.size >= capacity) entries.delete(entries.keys().next().value!)
    entries.set(key, { reply, storedAt: now(), expiresAt: now() + ttl * 1000 })
    return reply
  }

  /** Many askers of the same name wait for one answer. */
  function shared(key: string, answer: Answer): Answer {
    if (!(answer instanceof Promise)) return store(key, answer)
    const storing = answer.then((reply) => store(key, reply)).finally(() => underWay.delete(key))
    underWay.set(key, storing)
    return storing
  }

  return {
    name: 'cache',
    answer({ question, query }, next) {
      const key = keyOf(question, query.checkingDisabled, query.edns?.dnssecOk ?? false)
      const known = entries.get(key)
      if (known && known.expiresAt > now()) return aged(known, now())
      const waiting = underWay.get(key)
      if (waiting) return whenAnswered(waiting, (reply) => reply)
      return shared(key, next())
    },
    async [Symbol.asyncDispose]() {
      entries.clear()
    },
  }
}

const keyOf = ({ name, type, class: questionClass }: Question, checkingDisabled: boolean, dnssecOk: boolean) =>
  `${type} ${questionClass} ${checkingDisabled ? 'c' : ''}${dnssecOk ? 'd' : ''} ${name}`

const isNegative = ({ answers }: Reply) => answers.length === 0

/** Seconds; 0 for what must not be kept. */
function lifetimeOf(reply: Reply): number {
  if (reply.rcode === RCODES.SERVFAIL) return FAILURE_TTL
  if (reply.rcode !== RCODES.NOERROR && reply.rcode !== RCODES.NXDOMAIN) return 0
  if (!isNegative(reply)) return Math.min(...reply.answers.map(({ ttl }) => ttl))
  const soa = reply.authority.find(({ data }) => data.type === 'SOA')
  return soa?.data.type === 'SOA' ? Math.min(soa.ttl, soa.data.minimum) : 0
}

/** What is told on has only the rest of its life left. */
function aged({ reply, storedAt }: Entry, now: number): Reply {
  const age = Math.floor((now - storedAt) / 1000)
  if (age === 0) return reply
  const older = (records: readonly DnsRecord[]) =>
    records.map((record) => ({ ...record, ttl: Math.max(0, record.ttl - age) }))
  return {
    ...emptyReply(reply.rcode, reply.authoritative),
    answers: older(reply.answers),
    authority: older(reply.authority),
    additional: older(reply.additional),
  }
}
