import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inTurns, takeTurn } from './take-turn.ts'

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

it('gives others a turn between steps that take long', async () => {
  let turns = 0
  let isOver = false
  const others = (async () => {
    for (; !isOver; turns++) await nextTurn()
  })()
  function* steps() {
    for (let step = 0; step < 3; step++) {
      for (const end = performance.now() + 20; performance.now() < end; );
      yield [turns]
    }
  }
  const seen = await inTurns(steps())
  isOver = true
  await others
  expect(new Set(seen).size).toBe(3)
})
