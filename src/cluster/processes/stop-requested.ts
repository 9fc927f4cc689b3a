import { systemClock } from '../../base/clock.ts'

/** One Ctrl-C may arrive twice: from the terminal, and from a parent that passes it on. */
const SAME_REQUEST_MS = 1000

/** Resolves at the first signal to stop; a second one ends the process at once. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked: number | undefined
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (asked !== undefined && systemClock.now() - asked > SAME_REQUEST_MS) process.exit(130)
        asked ??= systemClock.now()
        resolve(signal)
      })
    }
  })
}
