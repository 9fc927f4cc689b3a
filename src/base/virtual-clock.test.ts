import { expect, test } from 'vitest'
import { seededRandom } from './random.ts'
import { VirtualClock } from './virtual-clock.ts'

test('runs timers in the order they fall due, ties in the order made', () => {
  const clock = new VirtualClock(1000)
  const ran: string[] = []
  const at = (name: string) => () => ran.push(`${name}@${clock.now()}`)
  clock.after(20, at('c'))
  clock.after(10, at('a'))
  clock.after(10, at('b'))
  clock.after(30, at('d'))
  clock.advance(25)
  expect(ran).toEqual(['a@1010', 'b@1010', 'c@1020'])
  expect(clock.now()).toBe(1025)
  expect(clock.pending).toBe(1)
})

test('runs timers made on the way', () => {
  const clock = new VirtualClock(0)
  const ran: number[] = []
  const again = () => {
    ran.push(clock.now())
    clock.after(10, again)
  }
  clock.after(10, again)
  clock.advance(35)
  expect(ran).toEqual([10, 20, 30])
})

test('a cancelled timer does not run', () => {
  const clock = new VirtualClock()
  const timer = clock.after(1, () => expect.unreachable())
  timer.cancel()
  clock.advance(10)
  expect(clock.pending).toBe(0)
})

test('sleep resolves, and rejects with the reason of its signal', async () => {
  const clock = new VirtualClock(0)
  const controller = new AbortController()
  const slept = clock.sleep(5)
  const aborted = clock.sleep(5, controller.signal)
  controller.abort('stop')
  await expect(aborted).rejects.toBe('stop')
  clock.advance(5)
  await slept
})

test('advanceAsync lets a loop of sleeps run', async () => {
  const clock = new VirtualClock(0)
  const times: number[] = []
  const loop = async () => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(10)
      times.push(clock.now())
    }
  }
  const done = loop()
  await clock.advanceAsync(30)
  await done
  expect(times).toEqual([10, 20, 30])
})

test('thousands of timers in random order come out sorted', () => {
  const clock = new VirtualClock(0)
  const random = seededRandom(7)
  const fired: number[] = []
  for (let i = 0; i < 5000; i++) clock.after(Math.floor(random.next() * 1000), () => fired.push(clock.now()))
  clock.advance(1000)
  expect(fired).toHaveLength(5000)
  expect(fired).toEqual(fired.toSorted((a, b) => a - b))
})

test('tells when the next timer falls due, cancelled ones not counted', () => {
  const clock = new VirtualClock(0)
  expect(clock.nextDue).toBeUndefined()
  const first = clock.after(10, () => {})
  clock.after(20, () => {})
  expect(clock.nextDue).toBe(10)
  first.cancel()
  expect(clock.nextDue).toBe(20)
})
