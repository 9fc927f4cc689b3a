import { expect, test } from 'vitest'
import { silentLogger } from '../../base/log.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { ProxyHealth } from './proxy-health.ts'
import { SyncLoop } from './sync-loop.ts'

function loopWith(sync: (full: boolean) => Promise<void>) {
  const clock = new VirtualClock()
  const runs: string[] = []
  const loop = new SyncLoop({
    clock,
    log: silentLogger,
    sync: async (full) => {
      runs.push(full ? 'full' : 'changes')
      await sync(full)
    },
  })
  return { clock, runs, loop }
}

test('what is asked for at once is done at once', async () => {
  const { clock, runs, loop } = loopWith(async () => {})
  for (let i = 0; i < 100; i++) loop.request()
  await clock.advanceAsync(1)
  expect(runs).toEqual(['changes'])
  loop.request(true)
  loop.request()
  await clock.advanceAsync(1)
  expect(runs).toEqual(['changes', 'full'])
  await loop.settled()
})

test('what is asked for during a sync is done by the next', async () => {
  let release = () => {}
  const { clock, runs, loop } = loopWith(() => new Promise((resolve) => (release = resolve)))
  loop.request()
  await clock.advanceAsync(1)
  loop.request()
  loop.request(true)
  await clock.advanceAsync(1)
  expect(runs).toEqual(['changes'])
  release()
  await clock.advanceAsync(1)
  expect(runs).toEqual(['changes', 'full'])
  release()
  await loop.settled()
})

test('failures are repeated in full, later and later', async () => {
  let failures = 3
  const { clock, runs, loop } = loopWith(async () => {
    if (failures-- > 0) throw new Error('no')
  })
  loop.request()
  await clock.advanceAsync(0)
  expect(runs).toEqual(['changes'])
  await clock.advanceAsync(99)
  loop.request()
  expect(runs).toEqual(['changes'])
  await clock.advanceAsync(1)
  expect(runs).toEqual(['changes', 'full'])
  await clock.advanceAsync(200)
  expect(runs).toHaveLength(3)
  await clock.advanceAsync(400)
  expect(runs).toHaveLength(4)
  await clock.advanceAsync(100_000)
  expect(runs).toHaveLength(4)
})

test('comparing because of others takes a small part of the time', async () => {
  const { clock, runs, loop } = loopWith(async () => clock.advance(50))
  const noise = async (milliseconds: number) => {
    for (let i = 0; i < milliseconds / 10; i++) {
      loop.requestCompare()
      await clock.advanceAsync(10)
    }
  }
  await noise(10_000)
  expect(runs.every((run) => run === 'full')).toBe(true)
  expect(runs.length).toBeGreaterThan(5)
  expect(runs.length).toBeLessThan(15)
})

test('the first change by others is looked at soon, however long the start took', async () => {
  const { clock, runs, loop } = loopWith(async () => clock.advance(5000))
  loop.request(true)
  await clock.advanceAsync(1)
  loop.requestCompare()
  await clock.advanceAsync(150)
  expect(runs).toEqual(['full', 'full'])
})

test('a disposed loop does nothing more', async () => {
  const { clock, runs, loop } = loopWith(async () => {})
  loop.request()
  await loop[Symbol.asyncDispose]()
  loop.request()
  await clock.advanceAsync(1000)
  expect(runs).toEqual([])
})

test('rules that are late make the proxy unhealthy', () => {
  const clock = new VirtualClock()
  const health = new ProxyHealth(clock)
  clock.advance(1_000_000)
  expect(health.isHealthy).toBe(true)
  health.queued()
  clock.advance(60_000)
  health.queued()
  expect(health.isHealthy).toBe(true)
  clock.advance(1)
  expect(health.isHealthy).toBe(false)
  health.updated()
  expect(health.isHealthy).toBe(true)
})
