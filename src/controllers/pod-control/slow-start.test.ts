import { expect, test } from 'vitest'
import { slowStart } from './slow-start.ts'

test.each([
  { count: 0, fails: -1, calls: 0, successes: 0 },
  { count: 10, fails: -1, calls: 10, successes: 10 },
  { count: 10, fails: 0, calls: 1, successes: 0 },
  { count: 10, fails: 2, calls: 3, successes: 2 },
  { count: 10, fails: 3, calls: 7, successes: 6 },
])('$count with a failure at $fails: $calls calls', async ({ count, fails, calls, successes }) => {
  const called: number[] = []
  const result = await slowStart(count, async (index) => {
    called.push(index)
    if (index === fails) throw new Error('full')
  })
  expect(called).toEqual(Array.from({ length: calls }, (_, index) => index))
  expect(result.successes).toBe(successes)
  expect((result.error as Error | undefined)?.message).toBe(fails < 0 ? undefined : 'full')
})
