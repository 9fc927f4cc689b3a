import { expect, test } from 'vitest'
import { VirtualClock } from './virtual-clock.ts'
import { WorkQueue } from './workqueue.ts'

function setUp(backoff = {}) {
  const clock = new VirtualClock()
  return { clock, queue: new WorkQueue(clock, backoff) }
}

async function drain(queue: WorkQueue): Promise<string[]> {
  const keys: string[] = []
  while (queue.length > 0) {
    const key = (await queue.next())!
    keys.push(key)
    queue.done(key)
  }
  return keys
}

test('is fair and holds a key once', async () => {
  const { queue } = setUp()
  for (const key of ['b', 'a', 'b', 'c', 'a']) queue.add(key)
  expect(await drain(queue)).toEqual(['b', 'a', 'c'])
})

test('a key in work is not handed out again before it is done', async () => {
  const { queue } = setUp()
  queue.add('a')
  expect(await queue.next()).toBe('a')
  queue.add('a')
  queue.add('a')
  queue.add('b')
  expect(await queue.next()).toBe('b')
  let handed: string | undefined
  const third = queue.next().then((key) => {
    handed = key
  })
  await Promise.resolve()
  expect(handed).toBeUndefined()
  queue.done('a')
  await third
  expect(handed).toBe('a')
  queue.done('a')
  expect(queue.length).toBe(0)
})

test('waiting workers are served in order', async () => {
  const { queue } = setUp()
  const workers = [queue.next(), queue.next()]
  queue.add('x')
  queue.add('y')
  expect(await Promise.all(workers)).toEqual(['x', 'y'])
})

test('a delayed key comes once, at the earliest of its times', async () => {
  const { clock, queue } = setUp()
  queue.addAfter('a', 100)
  queue.addAfter('a', 50)
  queue.addAfter('a', 200)
  clock.advance(49)
  expect(queue.length).toBe(0)
  clock.advance(1)
  expect(await drain(queue)).toEqual(['a'])
  clock.advance(1000)
  expect(queue.length).toBe(0)
})

test('an immediate add replaces the delayed one', () => {
  const { clock, queue } = setUp()
  queue.addAfter('a', 100)
  queue.add('a')
  expect(queue.length).toBe(1)
  expect(clock.pending).toBe(0)
})

test('backoff doubles for each failure of a key up to the maximum, and starts anew after forget', async () => {
  const { clock, queue } = setUp({ base: 10, maximum: 35 })
  const waits: number[] = []
  const waitOf = async (key: string) => {
    const start = clock.now()
    queue.addRateLimited(key)
    for (let i = 0; i < 100 && queue.length === 0; i++) clock.advance(1)
    waits.push(clock.now() - start)
    await drain(queue)
  }
  for (let i = 0; i < 4; i++) await waitOf('a')
  await waitOf('b')
  expect(queue.failures('a')).toBe(4)
  queue.forget('a')
  await waitOf('a')
  expect(waits).toEqual([10, 20, 35, 35, 10, 10])
})

test('after shutDown: waiting keys are handed out, then undefined; nothing is added; no timer stays', async () => {
  const { clock, queue } = setUp()
  queue.add('a')
  queue.addAfter('later', 10)
  queue.shutDown()
  queue.add('b')
  expect(clock.pending).toBe(0)
  expect(await queue.next()).toBe('a')
  queue.add('a')
  queue.done('a')
  expect(await queue.next()).toBeUndefined()
})

test('shutDown releases waiting workers', async () => {
  const { queue } = setUp()
  const waiting = queue.next()
  queue.shutDown()
  expect(await waiting).toBeUndefined()
})

test('idle resolves when the last key is done', async () => {
  const { queue } = setUp()
  await queue.idle()
  queue.add('a')
  let idle = false
  const waiting = queue.idle().then(() => {
    idle = true
  })
  const key = (await queue.next())!
  await Promise.resolve()
  expect(idle).toBe(false)
  queue.done(key)
  await waiting
})
