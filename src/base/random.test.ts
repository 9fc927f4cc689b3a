import { afterEach, describe, expect, it, vi } from 'vitest'
import { seededRandom, systemRandom } from './random.ts'

afterEach(() => vi.restoreAllMocks())

describe('systemRandom', () => {
  it('does not draw from Math.random, whose next numbers follow from those before', () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const numbers = new Set(Array.from({ length: 1000 }, () => systemRandom.next()))
    expect(numbers.size).toBe(1000)
  })

  it('gives numbers from 0 to below 1, all over the range', () => {
    const numbers = Array.from({ length: 10_000 }, () => systemRandom.next())
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true)
    for (let tenth = 0; tenth < 10; tenth++) {
      const share = numbers.filter((number) => Math.floor(number * 10) === tenth).length
      expect(share).toBeGreaterThan(700)
      expect(share).toBeLessThan(1300)
    }
  })
})

it('a seeded source gives the same numbers for the same seed', () => {
  const [a, b] = [seededRandom(7), seededRandom(7)]
  expect(Array.from({ length: 5 }, () => a.next())).toEqual(Array.from({ length: 5 }, () => b.next()))
})
