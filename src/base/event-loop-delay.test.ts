import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { observeEventLoopDelay } from './event-loop-delay.ts'
import { MetricsRegistry } from './metrics.ts'

const longest = (metrics: MetricsRegistry) =>
  Number(/sampan_event_loop_delay_seconds\{quantile="1"\} (\S+)/.exec(metrics.expose())![1])

it('tells the longest time for which something kept the event loop busy', async () => {
  const metrics = new MetricsRegistry()
  using _ = observeEventLoopDelay(metrics)
  await sleep(30)
  longest(metrics)
  await sleep(30)
  for (const end = performance.now() + 200; performance.now() < end; );
  await sleep(30)
  expect(longest(metrics)).toBeGreaterThan(0.15)
})

it('begins anew with each scrape', async () => {
  const metrics = new MetricsRegistry()
  using _ = observeEventLoopDelay(metrics)
  await sleep(30)
  expect(longest(metrics)).toBeGreaterThanOrEqual(0)
  expect(longest(metrics)).toBe(0)
})
