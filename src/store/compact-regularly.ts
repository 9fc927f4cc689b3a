import type { Clock, Timer } from '../base/clock.ts'
import type { Revision, Store } from './store.ts'

export const HISTORY_INTERVAL = 5 * 60_000

/**
 * Compacts to where the store was one interval ago, as often: the past is kept for one to two intervals. Several who do so
 * with one etcd keep no less. A store that does not answer is asked again an interval later.
 */
export function compactRegularly(
  store: Pick<Store, 'revision' | 'compact'>,
  clock: Clock,
  interval = HISTORY_INTERVAL,
): Disposable {
  let timer: Timer | undefined
  let isOver = false
  const next = (upTo: Revision | undefined) => {
    if (isOver) return
    timer = clock.after(interval, () => {
      if (upTo !== undefined) store.compact(upTo).catch(() => {})
      remember()
    })
    timer.unref()
  }
  const remember = () => {
    store.revision().then(next, () => next(undefined))
  }
  remember()
  return {
    [Symbol.dispose]() {
      isOver = true
      timer?.cancel()
    },
  }
}
