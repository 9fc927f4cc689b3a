import type { Lease } from '../../api/generated/coordination-v1.ts'
import type { Node } from '../../api/generated/core-v1.ts'
import { leaseKind } from '../../api/kinds/coordination/lease.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { isConditionTrue } from '../../api/meta/conditions.ts'
import { formatMicroTime } from '../../api/meta/time.ts'
import type { Timer } from '../../base/clock.ts'
import type { SimulatedNodesOptions } from '../simulated-node.ts'
import { LEASE_NAMESPACE, leaseObject, nodeConditions } from './node-object.ts'
import type { SimulatedMachine } from './node-table.ts'

/** A kubelet renews its lease every ten seconds, and its status every five minutes if nothing changed. */
const RENEW_INTERVAL = 10_000
const STATUS_INTERVAL = 300_000
/** Thousands in one process beat half as often, which is still twice before anybody would miss them. */
const CROWD = 1000
const CROWD_INTERVAL = 20_000
const SLOTS = 10
/** Few nodes beat together, so that they make few timers. */
const BEATING_TOGETHER = 10

interface Beat {
  readonly machine: SimulatedMachine
  lease: Lease | undefined
  statusAt: number
}

/** The heartbeats of all simulated nodes. They are spread over ten slots, so that a thousand nodes beat evenly. */
export class Heartbeats {
  readonly #options: SimulatedNodesOptions
  readonly #slots: Set<Beat>[] = Array.from({ length: SLOTS }, () => new Set())
  readonly #beats = new Map<string, Beat>()
  #added = 0
  #slot = 0
  #timer: Timer | undefined
  #isStopped = false
  #working = 0

  constructor(options: SimulatedNodesOptions) {
    this.#options = options
  }

  get isBusy(): boolean {
    return this.#working > 0
  }

  async add(machine: SimulatedMachine): Promise<void> {
    const beat: Beat = { machine, lease: undefined, statusAt: this.#options.clock.now() }
    this.#beats.set(machine.spec.name, beat)
    this.#slots[Math.floor(this.#added++ / BEATING_TOGETHER) % SLOTS]!.add(beat)
    await this.#renew(beat)
    this.#schedule()
  }

  remove(name: string): void {
    const beat = this.#beats.get(name)
    this.#beats.delete(name)
    if (beat) for (const slot of this.#slots) slot.delete(beat)
  }

  /** Beats now, outside the rhythm. */
  async beat(name: string): Promise<void> {
    const beat = this.#beats.get(name)
    if (beat) await this.#beat(beat)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  /** Empty slots are passed over: few nodes make few timers. */
  #schedule(): void {
    if (this.#timer || this.#isStopped || this.#beats.size === 0) return
    let steps = 1
    while (this.#slots[(this.#slot + steps) % SLOTS]!.size === 0) steps++
    const interval = this.#beats.size > CROWD ? CROWD_INTERVAL : RENEW_INTERVAL
    this.#timer = this.#options.clock
      .after((steps * interval) / SLOTS, () => {
        this.#timer = undefined
        this.#slot = (this.#slot + steps) % SLOTS
        for (const beat of this.#slots[this.#slot]!) void this.#beat(beat)
        this.#schedule()
      })
      .unref()
  }

  async #beat(beat: Beat): Promise<void> {
    if (!beat.machine.isAlive || !beat.machine.node) return
    this.#working++
    try {
      await this.#renew(beat)
      await this.#report(beat)
    } catch (error) {
      // The next beat tries again.
      beat.lease = undefined
      if (!(error instanceof ApiError)) this.#options.log.warn('a simulated node could not beat', { error })
    } finally {
      this.#working--
    }
  }

  async #renew(beat: Beat): Promise<void> {
    const { client, clock } = this.#options
    const leases = client.resource(leaseKind).namespace(LEASE_NAMESPACE)
    const { node, spec } = beat.machine
    if (!node) return
    if (!beat.lease) {
      const fresh = leaseObject(node, clock.now())
      let isTaken = false
      beat.lease = await leases.create(fresh).catch(async (error: unknown) => {
        isTaken = error instanceof ApiError && error.code === 409
        if (isTaken) return leases.get(spec.name)
        throw error
      })
      if (!isTaken) return
    }
    const renewTime = formatMicroTime(clock.now())
    if (beat.lease.spec?.renewTime === renewTime) return
    beat.lease = await leases.update({ ...beat.lease, spec: { ...beat.lease.spec, renewTime } })
  }

  async #report(beat: Beat): Promise<void> {
    const { client, clock } = this.#options
    const { node } = beat.machine
    const now = clock.now()
    const isDue = now - beat.statusAt >= STATUS_INTERVAL || !isConditionTrue(node?.status?.conditions, 'Ready')
    if (!node || !isDue) return
    await client.resource(nodeKind).updateStatus(withFreshConditions(node, now))
    beat.statusAt = now
  }
}

export function withFreshConditions(node: Node, now: number): Node {
  return { ...node, status: { ...node.status, conditions: nodeConditions(now, node.status?.conditions) } }
}
