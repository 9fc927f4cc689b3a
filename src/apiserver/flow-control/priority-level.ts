import type { PriorityLevelConfigurationSpec } from '../../api/generated/flowcontrol-v1.ts'
import { tooManyRequests } from '../../api/meta/api-error.ts'
import type { Flow } from './flow.ts'

/** A request that waits for seats. */
interface Waiting {
  readonly flow: Flow
  readonly width: number
  readonly start: () => void
  /** Its place in the order of the level. */
  readonly virtualStart: number
  readonly queue: Queue
}

interface Queue {
  readonly waiting: Waiting[]
  /** Seats asked for by those who wait, and held by those who came from here. */
  width: number
  /** When its last request would be through if all queues were served evenly. */
  virtualFinish: number
}

export type RejectReason = 'queue-full' | 'concurrency-limit' | 'time-out' | 'cancelled'

export class Rejected extends Error {
  readonly reason: RejectReason
  constructor(reason: RejectReason) {
    super(reason)
    this.reason = reason
  }
}

/** A request that waits, for whoever has to take it away again. */
export interface Place {
  leave(): void
}

/** Work of one turn of the event loop: more of it waits, so that others get their turn, however fast each one is. */
const TURN_SEATS = 128

export const tooMany = () => tooManyRequests('too many requests, please try again later', 1)

/** What a level needs of the others. */
export interface LevelServer {
  /** Seats that other levels could lend now. */
  borrowable(level: PriorityLevel): number
  /** Calls `beginTurn` in the next turn of the event loop. */
  nextTurn(level: PriorityLevel): void
}

/** One priority level: so many seats, and queues in front of them. Queues take turns by the seats they have used. */
export class PriorityLevel {
  readonly name: string
  spec: PriorityLevelConfigurationSpec
  uid = ''
  nominal = 0
  lendable = 0
  /** As many seats as it may have with what it can borrow. */
  most = 0
  inUse = 0
  #spentThisTurn = 0
  #waitingCount = 0
  #virtualTime = 0
  readonly #queues = new Map<number, Queue>()
  readonly #busy = new Set<Queue>()
  readonly #server: LevelServer

  constructor(name: string, spec: PriorityLevelConfigurationSpec, server: LevelServer) {
    this.name = name
    this.spec = spec
    this.#server = server
  }

  get isExempt(): boolean {
    return this.spec.type === 'Exempt'
  }

  get waitingCount(): number {
    return this.#waitingCount
  }

  get spentThisTurn(): number {
    return this.#spentThisTurn
  }

  /** Takes seats at once if that is fair to those who wait. */
  tryStart(width: number): boolean {
    if (this.isExempt) {
      this.inUse += width
      return true
    }
    if (this.#waitingCount > 0 || !this.#hasRoom(width)) return false
    this.#take(width)
    return true
  }

  leave(width: number): void {
    this.inUse -= width
    if (this.#waitingCount > 0) this.dispatch()
  }

  /** Puts a request in the shortest queue of its flow. Throws `Rejected` when there is no place for it. */
  enqueue(flow: Flow, width: number, start: () => void): Place {
    const queuing = this.spec.limited?.limitResponse?.queuing
    const isOnlyTurn = this.#spentThisTurn >= TURN_SEATS
    if (!queuing && !isOnlyTurn) throw new Rejected('concurrency-limit')
    const queue = this.#shortest(flow.handOf(queuing?.queues ?? 1, queuing?.handSize ?? 1))
    // Those who wait for the next turn are through in a moment: only who waits for a seat counts against the limit.
    if (!isOnlyTurn && queue.waiting.length >= (queuing?.queueLengthLimit ?? 0)) throw new Rejected('queue-full')
    const virtualStart = Math.max(this.#virtualTime, queue.virtualFinish)
    queue.virtualFinish = virtualStart + width
    queue.width += width
    const waiting: Waiting = { flow, width, start, virtualStart, queue }
    queue.waiting.push(waiting)
    this.#busy.add(queue)
    this.#waitingCount++
    return { leave: () => this.#takeAway(waiting) }
  }

  /** Another turn of the event loop has begun. */
  beginTurn(): void {
    this.#spentThisTurn = 0
    if (this.#waitingCount > 0) this.dispatch()
  }

  dispatch(): void {
    for (let next = this.#next(); next && this.#hasRoom(next.width); next = this.#next()) {
      this.#remove(next)
      this.#virtualTime = next.virtualStart
      this.#take(next.width)
      next.start()
    }
  }

  #hasRoom(width: number): boolean {
    if (this.#spentThisTurn >= TURN_SEATS) return false
    // A request wider than the level would never start: it gets all there is.
    const wanted = this.inUse + Math.min(width, Math.max(1, this.nominal))
    if (wanted <= this.nominal) return true
    return wanted <= this.most && wanted - this.nominal <= this.#server.borrowable(this)
  }

  #take(width: number): void {
    if (this.#spentThisTurn === 0) this.#server.nextTurn(this)
    this.inUse += width
    this.#spentThisTurn += width
  }

  #shortest(hand: readonly number[]): Queue {
    let best: Queue | undefined
    for (const index of hand) {
      let queue = this.#queues.get(index)
      if (!queue) {
        queue = { waiting: [], width: 0, virtualFinish: 0 }
        this.#queues.set(index, queue)
      }
      if (!best || queue.width < best.width) best = queue
    }
    return best!
  }

  #next(): Waiting | undefined {
    let first: Waiting | undefined
    for (const queue of this.#busy) {
      const head = queue.waiting[0]!
      if (!first || head.virtualStart < first.virtualStart) first = head
    }
    return first
  }

  #takeAway(waiting: Waiting): void {
    if (waiting.queue.waiting.includes(waiting)) this.#remove(waiting)
  }

  #remove(waiting: Waiting): void {
    const { queue } = waiting
    if (queue.waiting[0] === waiting) queue.waiting.shift()
    else queue.waiting.splice(queue.waiting.indexOf(waiting), 1)
    queue.width -= waiting.width
    this.#waitingCount--
    if (queue.waiting.length === 0) this.#busy.delete(queue)
  }
}
