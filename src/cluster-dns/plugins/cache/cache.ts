/** Keeps answers as long as they may be kept: positive ones by their TTL, negative ones by the zone's SOA (RFC 2308). */
import type { DnsMetrics } from '../../dns-metrics.ts'
import { type Answer, type DnsPlugin, emptyReply, type PluginKind } from '../../plugin.ts'
import { RCODES } from '../../wire/constants.ts'
import type { DnsRecord, Question, Reply } from '../../wire/message.ts'
import { isWithin } from '../../wire/names.ts'
import { type CacheOptions, cacheOptions } from './options.ts'

export const cacheKind: PluginKind = {
  name: 'cache',
  setup: (directive, { clock, metrics, zones }) =>
    cachePlugin(cacheOptions(directive, zones), { now: () => clock.now(), metrics }),
}

interface Entry {
  readonly reply: Reply
  readonly storedAt: number
  readonly expiresAt: number
}

interface CacheContext {
  readonly now: () => number
  readonly metrics?: DnsMetrics
}

export function cachePlugin(options: CacheOptions, context: CacheContext): DnsPlugin {
  const store = new AnswerStore(options, context)
  const isWanted = ({ name }: Question) => options.zones.some((zone) => isWithin(name, zone))
  return {
    name: 'cache',
    answer({ question, query }, next) {
      if (!isWanted(question)) return next()
      const key = keyOf(question, query.checkingDisabled, query.edns?.dnssecOk ?? false)
      return store.get(key) ?? store.fetch(key, question.name, next)
    },
    async [Symbol.asyncDispose]() {
      store.clear()
    },
  }
}

type Outcome = 'success' | 'denial'

/** How long an outdated answer may be told: a client should soon ask again. */
const STALE_TTL = 0

class AnswerStore {
  readonly #options: CacheOptions
  readonly #context: CacheContext
  readonly #entries: Readonly<Record<Outcome, Map<string, Entry>>> = { success: new Map(), denial: new Map() }
  readonly #underWay = new Map<string, Promise<Reply>>()

  constructor(options: CacheOptions, context: CacheContext) {
    this.#options = options
    this.#context = context
  }

  clear(): void {
    this.#entries.success.clear()
    this.#entries.denial.clear()
  }

  get(key: string): Answer | undefined {
    const now = this.#context.now()
    for (const outcome of ['success', 'denial'] as const) {
      const known = this.#entries[outcome].get(key)
      if (!known || known.expiresAt <= now) continue
      this.#context.metrics?.cacheHits[outcome].increment()
      return aged(known, now)
    }
    return this.#underWay.get(key)
  }

  /** Many askers of the same name wait for one answer. */
  fetch(key: string, name: string, next: () => Answer): Answer {
    this.#context.metrics?.cacheMisses.increment()
    const answer = next()
    if (!(answer instanceof Promise)) return this.#settle(key, name, answer)
    const storing = answer
      .then(
        (reply) => this.#settle(key, name, reply),
        (error) => {
          const old = this.#stale(key)
          if (old) return old
          throw error
        },
      )
      .finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, storing)
    return storing
  }

  #settle(key: string, name: string, reply: Reply): Reply {
    if (reply.rcode === RCODES.SERVFAIL) {
      const old = this.#stale(key)
      if (old) return old
    }
    // What says itself when it changes is known at once anyway, and never out of date.
    if (!reply.keep) this.#store(key, name, reply)
    return reply
  }

  #store(key: string, name: string, reply: Reply): void {
    const outcome = outcomeOf(reply)
    if (this.#options.disabled[outcome].some((zone) => isWithin(name, zone))) return
    this.#entries.success.delete(key)
    this.#entries.denial.delete(key)
    const { capacity, ttl: most, minTtl } = this.#options[outcome]
    const lifetime = lifetimeOf(reply, this.#options.failureTtl)
    const ttl = Math.min(
      reply.rcode === RCODES.SERVFAIL || lifetime === 0 ? lifetime : Math.max(lifetime, minTtl),
      most,
    )
    if (ttl <= 0) return
    const entries = this.#entries[outcome]
    if (entries.size >= capacity) entries.delete(entries.keys().next().value!)
    const now = this.#context.now()
    entries.set(key, { reply, storedAt: now, expiresAt: now + ttl * 1000 })
  }

  /** What was known last, if that is not too long ago. */
  #stale(key: string): Reply | undefined {
    const known = this.#entries.success.get(key)
    if (!known || known.expiresAt + this.#options.stale <= this.#context.now()) return undefined
    return { ...known.reply, answers: known.reply.answers.map((record) => ({ ...record, ttl: STALE_TTL })) }
  }
}

const keyOf = ({ name, type, class: questionClass }: Question, checkingDisabled: boolean, dnssecOk: boolean) =>
  `${type} ${questionClass} ${checkingDisabled ? 'c' : ''}${dnssecOk ? 'd' : ''} ${name}`

const outcomeOf = ({ answers, rcode }: Reply): Outcome =>
  answers.length === 0 || rcode !== RCODES.NOERROR ? 'denial' : 'success'

/** Seconds; 0 for what must not be kept. */
function lifetimeOf(reply: Reply, failureTtl: number): number {
  if (reply.rcode === RCODES.SERVFAIL) return failureTtl
  if (reply.rcode !== RCODES.NOERROR && reply.rcode !== RCODES.NXDOMAIN) return 0
  if (outcomeOf(reply) === 'success') return Math.min(...reply.answers.map(({ ttl }) => ttl))
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
