import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { MetricsRegistry } from './metrics.ts'

const RESOLUTION_MS = 10
const QUANTILES = [0.5, 0.9, 0.99, 1]

/**
 * Adds `sampan_event_loop_delay_seconds`: how much later than due a timer fired since the last scrape. The quantile 1 is the
 * longest time for which one piece of work kept everything else waiting.
 */
export function observeEventLoopDelay(metrics: MetricsRegistry): Disposable {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const gauge = metrics.gauge(
    'sampan_event_loop_delay_seconds',
    'How much later than due a timer fired since the last scrape, by quantile.',
    ['quantile'],
  )
  for (const quantile of QUANTILES) {
    gauge.labels(String(quantile)).readFrom(() => {
      const nanoseconds = delays.count === 0 ? 0 : delays.percentile(quantile * 100)
      // The last of them in a scrape begins the next period.
      if (quantile === 1) delays.reset()
      return Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3)
    })
  }
  return { [Symbol.dispose]: () => void delays.disable() }
}
