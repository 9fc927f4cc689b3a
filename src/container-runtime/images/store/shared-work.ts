import { linkAbort } from '../../../base/abort.ts'

interface Shared<T, P> {
  readonly done: Promise<T>
  readonly listeners: Set<(progress: P) => void>
  waiting: number
  abort(reason: unknown): void
}

/** The same work asked for twice is done once, and goes on until nobody wants it any more. */
export class SharedWork<T, P> {
  readonly #running = new Map<string, Shared<T, P>>()

  async run(
    key: string,
    work: (signal: AbortSignal, tell: (progress: P) => void) => Promise<T>,
    listener?: (progress: P) => void,
    signal?: AbortSignal,
  ): Promise<T> {
    signal?.throwIfAborted()
    const shared = this.#running.get(key) ?? this.#start(key, work)
    shared.waiting++
    if (listener) shared.listeners.add(listener)
    try {
      return await orAborted(shared.done, signal)
    } finally {
      if (listener) shared.listeners.delete(listener)
      if (--shared.waiting === 0) {
        if (this.#running.get(key) === shared) this.#running.delete(key)
        shared.abort(signal?.reason)
      }
    }
  }

  #start(key: string, work: (signal: AbortSignal, tell: (progress: P) => void) => Promise<T>): Shared<T, P> {
    const abort = linkAbort()
    const listeners = new Set<(progress: P) => void>()
    const done = work(abort.signal, (progress) => {
      for (const listener of listeners) listener(progress)
    })
    done.catch(() => {})
    const shared: Shared<T, P> = { done, listeners, waiting: 0, abort: (reason) => abort.abort(reason) }
    this.#running.set(key, shared)
    return shared
  }
}

/** The result, unless the signal comes first. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** At most so many at a time, in the order they came. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}
