/** Time comes in through this interface everywhere, so that a whole cluster can run on a virtual clock. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls `callback` once after `delay` milliseconds, unless the timer is cancelled first. */
  after(delay: number, callback: () => void): Timer
  /** Resolves after `delay` milliseconds; rejects with the signal's reason if aborted first. */
  sleep(delay: number, signal?: AbortSignal): Promise<void>
}

export interface Timer {
  cancel(): void
  /** Lets the process end although the timer is pending. */
  unref(): Timer
}

/** `sleep` in terms of `after`: the same for every clock. */
export function sleepOn(clock: Pick<Clock, 'after'>, delay: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const timer = clock.after(delay, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delay, callback) {
    // setTimeout fires at once for delays above 2^31 - 1; a longer wait is cut to that, about 24 days.
    const handle = setTimeout(callback, Math.min(delay, 0x7fffffff))
    const timer: Timer = {
      cancel: () => clearTimeout(handle),
      unref: () => {
        handle.unref()
        return timer
      },
    }
    return timer
  },
  sleep: (delay, signal) => sleepOn(systemClock, delay, signal),
}
