import type { Clock, Timer } from '../../base/clock.ts'
import { type Change, type ChangeBatch, CompactedError, type Revision } from '../store.ts'
import type { Connection, WatchStream } from './connection.ts'
import { isMarker, type KeySpace, prefixRange } from './keys.ts'
import { EVENT_DELETE, type WatchResponse } from './messages.ts'
import type { ProgressRequests } from './progress.ts'

/** A reader that falls behind by more batches than this stops the stream; etcd then waits for it. */
const QUEUE_BATCHES = 64
const RECONNECT_DELAY = 100

export interface WatchContext {
  readonly connection: Connection
  readonly keys: KeySpace
  readonly clock: Clock
  readonly progress: ProgressRequests
}

type Reader = { resolve: (result: IteratorResult<ChangeBatch>) => void; reject: (error: unknown) => void }

/** One watch over one stream; when the stream breaks, a new one goes on after the last revision that came whole. */
export class EtcdWatch implements AsyncIterableIterator<ChangeBatch> {
  readonly prefix: string
  readonly #context: WatchContext
  readonly #signal: AbortSignal
  readonly #onEnd: () => void
  /** Everything up to here has been queued for the reader. */
  #queuedUpTo: Revision
  #queue: ChangeBatch[] = []
  #reader: Reader | undefined
  #fragments: Change[] = []
  #stream: WatchStream | undefined
  #retry: Timer | undefined
  #ended = false
  #failure: unknown
  #awaiting: { revision: Revision; resolve: () => void }[] = []

  constructor(context: WatchContext, prefix: string, after: Revision, signal: AbortSignal, onEnd: () => void) {
    this.#context = context
    this.prefix = prefix
    this.#queuedUpTo = after
    this.#signal = signal
    this.#onEnd = onEnd
  }

  start(): this {
    this.#signal.addEventListener('abort', this.end, { once: true })
    if (this.#signal.aborted) this.end()
    else this.#connect()
    return this
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<ChangeBatch>> {
    const batch = this.#queue.shift()
    if (batch) {
      if (this.#queue.length < QUEUE_BATCHES / 2) this.#stream?.resume()
      return Promise.resolve({ done: false, value: batch })
    }
    if (this.#failure !== undefined) {
      const failure = this.#failure
      this.#failure = undefined
      return Promise.reject(failure)
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    if (this.#reader) return Promise.reject(new Error('a watch has one reader, which is waiting already'))
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  return(): Promise<IteratorResult<ChangeBatch>> {
    this.end()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Resolves when the reader has been handed everything up to the revision, or will not take it. */
  handed(revision: Revision): Promise<void> {
    if (this.#ended || revision <= this.#queuedUpTo || this.#stream?.isPaused()) return Promise.resolve()
    return new Promise((resolve) => {
      this.#awaiting.push({ revision, resolve })
    })
  }

  requestProgress(): void {
    this.#context.progress.request(this.prefix, this.#stream)
  }

  readonly end = (): void => {
    if (this.#ended) return
    this.#ended = true
    this.#signal.removeEventListener('abort', this.end)
    this.#retry?.cancel()
    this.#stream?.cancel()
    this.#queue = []
    this.#release(Number.POSITIVE_INFINITY)
    this.#onEnd()
    this.#reader?.resolve({ done: true, value: undefined })
    this.#reader = undefined
  }

  #connect(): void {
    const { connection, keys } = this.#context
    const stream = connection.watchStream()
    this.#stream = stream
    this.#fragments = []
    const range = prefixRange(keys.toEtcd(this.prefix))
    stream.on('data', (response: WatchResponse) => this.#receive(stream, response))
    stream.on('error', () => this.#reconnect(stream))
    stream.on('end', () => this.#reconnect(stream))
    stream.write({
      create_request: { ...range, start_revision: this.#queuedUpTo + 1, prev_kv: true, fragment: true },
    })
  }

  #reconnect(stream: WatchStream): void {
    if (this.#ended || stream !== this.#stream) return
    this.#stream = undefined
    stream.cancel()
    this.#context.connection.useNext()
    this.#retry = this.#context.clock.after(RECONNECT_DELAY, () => this.#connect())
  }

  #receive(stream: WatchStream, response: WatchResponse): void {
    if (stream !== this.#stream || this.#ended) return
    if (response.compact_revision) {
      this.#fail(new CompactedError(this.#queuedUpTo, response.compact_revision))
    } else if (response.canceled) {
      this.#reconnect(stream)
    } else if (response.events || response.fragment) {
      this.#receiveEvents(response)
    } else if (!response.created) {
      this.#context.progress.arrived(response.header?.revision ?? 0, (revision) => this.#report(revision))
    }
  }

  #receiveEvents(response: WatchResponse): void {
    for (const event of response.events ?? []) {
      const { keys } = this.#context
      const revision = event.kv?.mod_revision ?? 0
      const key = keys.fromEtcd(event.kv?.key ?? Buffer.alloc(0))
      const entry = event.type === EVENT_DELETE ? undefined : event.kv
      if (isMarker(key)) continue
      this.#fragments.push({
        key,
        revision,
        entry: entry && keys.entry(entry),
        previous: event.prev_kv && keys.entry(event.prev_kv),
      })
    }
    if (response.fragment) return
    const changes = this.#fragments
    this.#fragments = []
    const last = response.events?.at(-1)?.kv?.mod_revision ?? this.#queuedUpTo
    this.#hand({ revision: last, changes })
  }

  #report(revision: Revision): void {
    if (revision >= this.#queuedUpTo) this.#hand({ revision, changes: [] })
  }

  #hand(batch: ChangeBatch): void {
    this.#queuedUpTo = batch.revision
    if (this.#reader) {
      this.#reader.resolve({ done: false, value: batch })
      this.#reader = undefined
    } else {
      this.#queue.push(batch)
      if (this.#queue.length >= QUEUE_BATCHES) this.#stream?.pause()
    }
    this.#release(this.#stream?.isPaused() ? Number.POSITIVE_INFINITY : batch.revision)
  }

  #fail(failure: unknown): void {
    const reader = this.#reader
    this.#reader = undefined
    if (!reader) this.#failure = failure
    const queue = this.#queue
    this.end()
    this.#queue = queue
    reader?.reject(failure)
  }

  #release(upTo: Revision): void {
    if (this.#awaiting.length === 0) return
    const waiting = this.#awaiting
    this.#awaiting = waiting.filter(({ revision }) => revision > upTo)
    for (const { revision, resolve } of waiting) if (revision <= upTo) resolve()
  }
}
