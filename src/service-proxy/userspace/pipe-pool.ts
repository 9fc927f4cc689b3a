/** Pipes to splice through, kept for the next who needs one. Its text is run in a worker, so it is whole in itself. */
import type { SpliceCalls } from './splice-calls.ts'

export class PipePool {
  static readonly BYTES = 1 << 20
  static readonly MOST_KEPT = 64
  readonly #calls: SpliceCalls
  readonly #kept: (readonly [number, number])[] = []
  readonly #ends = Buffer.from(new ArrayBuffer(8))
  readonly #endsAt: number

  constructor(calls: SpliceCalls) {
    this.#calls = calls
    this.#endsAt = calls.addressOf(this.#ends)
  }

  /** Where bytes come out, and where they go in. */
  take(): readonly [number, number] {
    const kept = this.#kept.pop()
    if (kept) return kept
    const NONBLOCK_CLOEXEC = 0o4000 | 0o2000000
    const F_SETPIPE_SZ = 1031
    this.#calls.call.pipe2(this.#endsAt, NONBLOCK_CLOEXEC)
    const pipe = [this.#ends.readInt32LE(0), this.#ends.readInt32LE(4)] as const
    this.#calls.call.fcntl(pipe[1], F_SETPIPE_SZ, PipePool.BYTES)
    return pipe
  }

  give(pipe: readonly [number, number], isEmpty: boolean): void {
    if (isEmpty && this.#kept.length < PipePool.MOST_KEPT) this.#kept.push(pipe)
    else for (const end of pipe) this.#calls.call.close(end)
  }
}
