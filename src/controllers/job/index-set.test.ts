import { describe, expect, it } from 'vitest'
import { IndexSet } from './index-set.ts'

describe('IndexSet', () => {
  it.each<[number[], string]>([
    [[], ''],
    [[3], '3'],
    [[1, 2], '1,2'],
    [[5, 3, 4, 1], '1,3-5'],
    [[1, 1, 2, 3, 7, 8, 9], '1-3,7-9'],
  ])('%j is written %s and read back', (indexes, text) => {
    const set = IndexSet.of(indexes)
    expect(String(set)).toBe(text)
    expect(String(IndexSet.parse(text, 100))).toBe(text)
    expect(set.size).toBe(new Set(indexes).size)
  })

  it.each<[string, number, string]>([
    ['0-9', 5, '0-4'],
    ['1,7', 5, '1'],
    ['x,2,-', 5, '2'],
  ])('parse %s below %i', (text, limit, expected) => expect(String(IndexSet.parse(text, limit))).toBe(expected))

  it.each<[number[], number, number, number[]]>([
    [[], 2, 3, [0, 1]],
    [[0, 2], 3, 4, [1, 3]],
    [[0, 1, 2], 3, 3, []],
    [[5], 10, 3, [0, 1, 2]],
  ])('missing from %j: %i below %i', (indexes, count, limit, expected) =>
    expect(IndexSet.of(indexes).missing(count, limit)).toEqual(expected),
  )

  it('counts what two have in common', () => {
    expect(IndexSet.of([1, 2, 3, 7]).overlap(IndexSet.of([2, 3, 4, 7, 9]))).toBe(3)
  })
})
