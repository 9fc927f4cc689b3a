import { getOrCreate } from '../../base/get-or-create.ts'

const FIRST_DELAY = 1000
const MAX_DELAY = 15 * 60 * 1000

/** When a failed pod of a node may be replaced: later and later, so that a daemon that cannot run does not flood its node. */
export class FailedPodBackoff {
  readonly #byOwner = new Map<string, Map<string, { delay: number; at: number }>>()

  /** Milliseconds to wait before the pod of `node` is replaced; 0 means now, and counts as an attempt. */
  attempt(owner: string, node: string, now: number): number {
    const nodes = getOrCreate(this.#byOwner, owner, () => new Map<string, { delay: number; at: number }>())
    const last = nodes.get(node)
    if (last && now - last.at < last.delay) return last.at + last.delay - now
    // Twice the longest delay without a failure makes a fresh start.
    const isFresh = !last || now - last.at > 2 * MAX_DELAY
    nodes.set(node, { delay: isFresh ? FIRST_DELAY : Math.min(last.delay * 2, MAX_DELAY), at: now })
    return 0
  }

  forget(owner: string): void {
    this.#byOwner.delete(owner)
  }
}
