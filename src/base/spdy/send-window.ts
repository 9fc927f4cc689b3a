/** How much may be sent before the other side has read some of it. */
export class SendWindow {
  #left: number
  readonly #waiting: (() => void)[] = []

  constructor(size: number) {
    this.#left = size
  }

  get left(): number {
    return this.#left
  }

  take(bytes: number): void {
    this.#left -= bytes
  }

  grow(bytes: number): void {
    this.#left += bytes
    if (this.#left > 0) this.wake()
  }

  /** Calls back once when there may be room. */
  whenRoom(callback: () => void): void {
    this.#waiting.push(callback)
  }

  wake(): void {
    for (const callback of this.#waiting.splice(0)) callback()
  }
}
