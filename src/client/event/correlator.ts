import { LruMap } from './lru-map.ts'

/** One occurrence, as a component reports it. */
export interface Occurrence {
  /** Source, object, type and reason: what similar events share. */
  readonly group: string
  /** Source and object alone: whose events are counted against the spam limit. */
  readonly subject: string
  readonly message: string
}

export type Verdict =
  | { readonly type: 'drop' }
  /** `count` is how often it happened within the window; `known` is what was recorded for it before. */
  | {
      readonly type: 'record'
      readonly key: string
      readonly message: string
      readonly count: number
      readonly first: number
    }

const CACHE_SIZE = 4096
/** More different messages than this for one group are told as one. */
const MAX_SIMILAR = 10
/** Milliseconds in which occurrences count as the same story. */
const WINDOW = 10 * 60 * 1000
/** Each subject may send this many at once, then one in five minutes. */
const BURST = 25
const REFILL = 5 * 60 * 1000
const COMBINED = '(combined from similar events): '

/** Decides which occurrences become new events, which raise a count, and which are too many. Pure but for its memory. */
export class EventCorrelator {
  readonly #buckets = new LruMap<{ tokens: number; at: number }>(CACHE_SIZE)
  readonly #similar = new LruMap<{ messages: Set<string>; at: number }>(CACHE_SIZE)
  readonly #seen = new LruMap<{ count: number; first: number; at: number }>(CACHE_SIZE)

  judge(occurrence: Occurrence, now: number): Verdict {
    const combined = this.#isSimilarToMany(occurrence, now)
    const message = combined ? `${COMBINED}${occurrence.message}` : occurrence.message
    // Combined events share one key, whatever they say.
    const key = combined ? occurrence.group : `${occurrence.group}\n${occurrence.message}`
    const known = this.#seen.get(key)
    const fresh = known && now - known.at <= WINDOW ? known : { count: 0, first: now }
    const seen = { count: fresh.count + 1, first: fresh.first, at: now }
    this.#seen.set(key, seen)
    if (!this.#takeToken(occurrence.subject, now)) return { type: 'drop' }
    return { type: 'record', key, message, count: seen.count, first: seen.first }
  }

  #isSimilarToMany({ group, message }: Occurrence, now: number): boolean {
    const known = this.#similar.get(group)
    const entry = known && now - known.at <= WINDOW ? known : { messages: new Set<string>(), at: now }
    entry.at = now
    if (entry.messages.size < MAX_SIMILAR) entry.messages.add(message)
    this.#similar.set(group, entry)
    return !entry.messages.has(message)
  }

  #takeToken(subject: string, now: number): boolean {
    const known = this.#buckets.get(subject) ?? { tokens: BURST, at: now }
    const tokens = Math.min(BURST, known.tokens + (now - known.at) / REFILL)
    this.#buckets.set(subject, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now })
    return tokens >= 1
  }
}
