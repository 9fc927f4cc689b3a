import { expect, it } from 'vitest'
import { parseDuration } from './duration.ts'

it.each([
  ['0', 0],
  ['300ms', 300],
  ['5s', 5000],
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['10m', 600_000],
  ['.5s', 500],
  ['5', undefined],
  ['', undefined],
  ['m', undefined],
  ['-5s', undefined],
  ['5 s', undefined],
  ['5s x', undefined],
])('parseDuration(%s)', (text, expected) => {
  expect(parseDuration(text)).toBe(expected)
})
