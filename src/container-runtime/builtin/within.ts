import type { Clock } from '../../base/clock.ts'

/** Waits for the work, but no longer than this; a work that fails is over too. */
export async function within(clock: Clock, milliseconds: number, work: Promise<unknown> | undefined): Promise<void> {
  const timeout = new AbortController()
  const late = clock.sleep(milliseconds, timeout.signal).catch(() => {})
  try {
    await Promise.race([work, late])
  } catch {
    // Nothing more is to be expected of it.
  } finally {
    timeout.abort()
  }
}
