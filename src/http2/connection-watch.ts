/** What a connection looks like at one of the regular looks at it. */
export interface ConnectionState {
  /** Streams that are open. */
  readonly streams: number
  /** The number of the last stream that was opened. */
  readonly lastStream: number
  /** How often anything was received. */
  readonly reads: number
  /** The preface or a header block has begun and not ended. */
  readonly isUnfinished: boolean
}

export type WatchVerdict = 'keep' | 'ping' | 'idle' | 'slow' | 'silent'

/** A look is taken so often. Limits are whole numbers of looks, so a client may have up to one more. */
export const LOOK_MS = 15_000
/** Upstream's 90 s without a request. */
const IDLE_LOOKS = 6
/** Upstream's 32 s for the head of a request. */
const HEAD_LOOKS = 2
/** A client with open streams that sent nothing for so long is asked for a sign of life, and has as long to give it. */
const SILENT_LOOKS = 2

/**
 * Decides what becomes of a connection by what changed since the last look. Nothing is noted in between, so that requests
 * cost nothing more. Pings and other frames without a request do not make a connection less idle.
 */
export class ConnectionWatch {
  #lastStream = 0
  #reads = 0
  #idle = 0
  #silent = 0
  #unfinished = 0

  look({ streams, lastStream, reads, isUnfinished }: ConnectionState): WatchVerdict {
    const isNew = lastStream !== this.#lastStream
    const isHeard = reads !== this.#reads
    this.#lastStream = lastStream
    this.#reads = reads
    this.#idle = isNew || streams > 0 ? 0 : this.#idle + 1
    this.#silent = isHeard || streams === 0 ? 0 : this.#silent + 1
    this.#unfinished = isUnfinished && !isNew ? this.#unfinished + 1 : 0
    if (this.#unfinished > HEAD_LOOKS) return 'slow'
    if (this.#idle >= IDLE_LOOKS) return 'idle'
    if (this.#silent >= 2 * SILENT_LOOKS) return 'silent'
    return this.#silent === SILENT_LOOKS ? 'ping' : 'keep'
  }
}
