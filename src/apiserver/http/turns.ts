/**
 * Connections take turns: only so much is begun in a turn of the event loop, and what waits is taken from each
 * connection by turns.
 */
export class Turns<Connection extends object> {
  /** In the order in which connections come to their turn. */
  readonly #waiting = new Map<Connection, (() => void)[]>()
  readonly #perTurn: number
  #begun = 0
  #isTurnComing = false

  constructor(perTurn: number) {
    this.#perTurn = perTurn
  }

  /** Begins now if there is room, as it is almost always, or when the connection has its turn. */
  take(connection: Connection, begin: () => void): void {
    this.#expectTurn()
    const queue = this.#waiting.get(connection)
    if (queue !== undefined) queue.push(begin)
    else if (this.#waiting.size > 0 || this.#begun >= this.#perTurn) this.#waiting.set(connection, [begin])
    else {
      this.#begun++
      begin()
    }
  }

  #expectTurn(): void {
    if (this.#isTurnComing) return
    this.#isTurnComing = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#isTurnComing = false
    this.#begun = 0
    if (this.#waiting.size === 0) return
    this.#expectTurn()
    while (this.#begun < this.#perTurn) {
      const begin = this.#next()
      if (begin === undefined) return
      this.#begun++
      begin()
    }
  }

  #next(): (() => void) | undefined {
    for (const [connection, queue] of this.#waiting) {
      const begin = queue.shift()
      this.#waiting.delete(connection)
      if (queue.length > 0) this.#waiting.set(connection, queue)
      return begin
    }
    return undefined
  }
}
