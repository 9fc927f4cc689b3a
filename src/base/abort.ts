import type { Clock } from './clock.ts'

/** A signal that aborts with the first of its parents, and can be aborted by itself. Dispose to detach from parents. */
export interface LinkedAbort extends Disposable {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}

/**
 * Long-lived parents keep a listener for every child until it is disposed, which `AbortSignal.any` does not let one
 * control; a server that links each request to its own shutdown needs that.
 */
export function linkAbort(...parents: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const controller = new AbortController()
  const linked: { parent: AbortSignal; listener: () => void }[] = []
  const detach = () => {
    for (const { parent, listener } of linked.splice(0)) parent.removeEventListener('abort', listener)
  }
  const abort = (reason?: unknown) => {
    detach()
    controller.abort(reason)
  }
  for (const parent of parents) {
    if (!parent) continue
    if (parent.aborted) {
      abort(parent.reason)
      break
    }
    const listener = () => abort(parent.reason)
    parent.addEventListener('abort', listener, { once: true })
    linked.push({ parent, listener })
  }
  return { signal: controller.signal, abort, [Symbol.dispose]: detach }
}

export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/** A linked abort that also fires `delay` milliseconds from now, with a `DeadlineError`. */
export function deadline(clock: Clock, delay: number, ...parents: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const linked = linkAbort(...parents)
  const timer = clock.after(delay, () => linked.abort(new DeadlineError(`deadline of ${delay} ms exceeded`)))
  timer.unref()
  const cancel = () => timer.cancel()
  if (linked.signal.aborted) cancel()
  else linked.signal.addEventListener('abort', cancel, { once: true })
  return {
    signal: linked.signal,
    abort: linked.abort,
    [Symbol.dispose]() {
      cancel()
      linked[Symbol.dispose]()
    },
  }
}

/** What the promise gives, unless the signal aborts before: then its reason is thrown. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  let stop = () => {}
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
  })
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([stopped, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Resolves once the signal has aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
