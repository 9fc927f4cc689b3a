/** How long to wait before trying again what keeps failing: doubling, and forgotten after twice the longest wait. */
export class KeyedBackoff {
  readonly #base: number
  readonly #maximum: number
  readonly #entries = new Map<string, { wait: number; updated: number }>()

  /** Milliseconds. */
  constructor(base: number, maximum: number) {
    this.#base = base
    this.#maximum = maximum
  }

  /** The wait that is still on since `event`, or undefined. */
  waitSince(key: string, event: number, now: number): { readonly wait: number; readonly until: number } | undefined {
    const entry = this.#entries.get(key)
    if (!entry || this.#isExpired(entry.updated, event) || now - event >= entry.wait) return undefined
    return { wait: entry.wait, until: event + entry.wait }
  }

  /** Until when to wait since the last try, or undefined. */
  waitUntil(key: string, now: number): number | undefined {
    const entry = this.#entries.get(key)
    return entry && now - entry.updated < entry.wait ? entry.updated + entry.wait : undefined
  }

  /** It is tried again now: the next wait is twice as long. */
  next(key: string, event: number, now: number): void {
    const entry = this.#entries.get(key)
    const wait = !entry || this.#isExpired(entry.updated, event) ? this.#base : Math.min(entry.wait * 2, this.#maximum)
    this.#entries.set(key, { wait, updated: now })
  }

  forget(key: string): void {
    this.#entries.delete(key)
  }

  /** Forgets everything whose key starts so: a pod that is gone. */
  forgetAll(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key)
  }

  #isExpired(updated: number, event: number): boolean {
    return event - updated > this.#maximum * 2
  }
}

/** As Go prints durations of whole seconds: `10s`, `1m20s`, `5m0s`. */
export function secondsText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
