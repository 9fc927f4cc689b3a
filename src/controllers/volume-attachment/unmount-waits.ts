import type { Node } from '../../api/generated/core-v1.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { TAINT } from '../../api/meta/well-known.ts'
import type { Clock } from '../../base/clock.ts'

/** How long a node that is not well is given to unmount a volume before it is taken from it. */
const UNMOUNT_TIME = 360_000

const isReady = ({ status }: Node) => isConditionTrue(status?.conditions, 'Ready')
const isOutOfService = ({ spec }: Node) => spec?.taints?.some(({ key }) => key === TAINT.outOfService) ?? false

/** Whether a node is no longer what it was as far as its volumes are concerned. */
export const saysOtherwise = (old: Node, current: Node) =>
  isReady(old) !== isReady(current) || isOutOfService(old) !== isOutOfService(current)

/**
 * A volume that its kubelet still says to use must not be pulled from under it. Of a node that is not ready nobody knows;
 * one that somebody has declared out of service uses nothing any more (KEP-2268).
 */
export class UnmountWaits {
  readonly #clock: Clock
  /** Since when each attachment waits. */
  readonly #since = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds to wait before the volume may be detached; infinite as long as the node is well. */
  waitFor(attachment: string, node: Node): number {
    const now = this.#clock.now()
    const since = this.#since.get(attachment) ?? now
    this.#since.set(attachment, since)
    if (isOutOfService(node)) return 0
    return isReady(node) ? Number.POSITIVE_INFINITY : Math.max(0, since + UNMOUNT_TIME - now)
  }

  forget(attachment: string): void {
    this.#since.delete(attachment)
  }
}
