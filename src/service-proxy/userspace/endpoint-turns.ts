/**
 * Whose turn it is, and which client stays where. Its text is run in a worker, so it is whole in itself: types are all that
 * it imports.
 */
import type { RelayTarget, RelayTargets } from './relay.ts'

export class EndpointTurns {
  readonly #now: () => number
  readonly #clients = new Map<string, { target: string; lastUsed: number }>()
  #targets: RelayTargets
  #next = 0

  constructor(targets: RelayTargets, now: () => number) {
    this.#targets = targets
    this.#now = now
  }

  get count(): number {
    return this.#targets.endpoints.length
  }

  get isSticky(): boolean {
    return this.#targets.affinityMs > 0
  }

  has(target: string): boolean {
    return this.#find(target) !== undefined
  }

  change(targets: RelayTargets): void {
    this.#targets = targets
    if (!this.isSticky) this.#clients.clear()
  }

  /** In turn, unless the client has an endpoint that is still one and has not failed it. */
  choose(client: string, hasFailed: boolean): RelayTarget | undefined {
    const known = this.isSticky && !hasFailed ? this.#clients.get(client) : undefined
    const now = this.#now()
    if (known && now - known.lastUsed < this.#targets.affinityMs) {
      const target = this.#find(known.target)
      known.lastUsed = now
      if (target) return target
    }
    const { endpoints } = this.#targets
    const target = endpoints[this.#next % Math.max(1, endpoints.length)]
    this.#next = (this.#next + 1) % Math.max(1, endpoints.length)
    if (target && this.isSticky) this.#clients.set(client, { target: `${target.ip} ${target.port}`, lastUsed: now })
    return target
  }

  /** Clients that were away for too long are forgotten. */
  sweep(): void {
    const now = this.#now()
    for (const [client, { lastUsed }] of this.#clients) {
      if (now - lastUsed > this.#targets.affinityMs) this.#clients.delete(client)
    }
  }

  #find(target: string): RelayTarget | undefined {
    return this.#targets.endpoints.find(({ ip, port }) => `${ip} ${port}` === target)
  }
}
