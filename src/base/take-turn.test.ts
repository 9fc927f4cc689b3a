import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { takeTurn } from './take-turn.ts'

it('resumes one caller per turn of the event loop, in order', async () => {
  const events: string[] = []
  const work = async (name: string) => {
    for (let step = 1; step <= 2; step++) {
      await takeTurn()
      events.push(`${name}${step}`)
    }
  }
  const works = Promise.all([work('a'), work('b'), work('c')])
  const seen: number[] = []
  while (events.length < 6) {
    const before = events.length
    await nextTurn()
    seen.push(events.length - before)
  }
  await works
  expect(events).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
  expect(Math.max(...seen)).toBe(1)
})
