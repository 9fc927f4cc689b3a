import { tooManyRequests } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import type { UserInfo } from '../identity.ts'

export interface RateLimit {
  /** Requests per second that a user can go on with for ever. */
  readonly perSecond: number
  /** Requests at once after a pause. */
  readonly burst: number
  /** Members of these groups are not counted. */
  readonly exemptGroups: readonly string[]
}

/** More than any honest client needs, less than what would starve the others. */
export const DEFAULT_RATE_LIMIT: RateLimit = { perSecond: 2000, burst: 4000, exemptGroups: ['system:masters'] }

interface Bucket {
  tokens: number
  /** When the tokens were counted last. */
  at: number
}

/** So many users are remembered before those who have been quiet are looked for. */
const MANY = 1000

/** Bounds how fast each user may ask, with a bucket of tokens that fills as time goes on. */
export class UserRates {
  readonly #clock: Clock
  readonly #limit: RateLimit
  readonly #buckets = new Map<string, Bucket>()
  #sweepAt = MANY

  constructor(clock: Clock, limit: RateLimit = DEFAULT_RATE_LIMIT) {
    if (!(limit.perSecond > 0) || !(limit.burst >= 1)) throw new Error('a rate limit must let some requests through')
    this.#clock = clock
    this.#limit = limit
  }

  /** How many users are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  /** Counts one request. Throws 429 when the user has asked too fast. */
  take(user: UserInfo): void {
    if (this.#limit.exemptGroups.some((group) => user.groups.includes(group))) return
    const bucket = this.#bucketOf(user.name)
    if (bucket.tokens >= 1) {
      bucket.tokens--
      return
    }
    const wait = Math.max(1, Math.ceil((1 - bucket.tokens) / this.#limit.perSecond))
    throw tooManyRequests(`too many requests by ${JSON.stringify(user.name)}, please try again later`, wait)
  }

  #bucketOf(name: string): Bucket {
    const now = this.#clock.now()
    const known = this.#buckets.get(name)
    if (known) {
      this.#fill(known, now)
      return known
    }
    if (this.#buckets.size >= this.#sweepAt) this.#forgetQuiet(now)
    const bucket = { tokens: this.#limit.burst, at: now }
    this.#buckets.set(name, bucket)
    return bucket
  }

  #fill(bucket: Bucket, now: number): void {
    const { perSecond, burst } = this.#limit
    // A clock that was set back gives nothing, and takes nothing away.
    const seconds = Math.max(0, now - bucket.at) / 1000
    bucket.tokens = Math.min(burst, bucket.tokens + seconds * perSecond)
    bucket.at = now
  }

  /** A full bucket is as good as none. The next look comes when as many again have come. */
  #forgetQuiet(now: number): void {
    for (const [name, bucket] of this.#buckets) {
      this.#fill(bucket, now)
      if (bucket.tokens >= this.#limit.burst) this.#buckets.delete(name)
    }
    this.#sweepAt = this.#buckets.size + MANY
  }
}
