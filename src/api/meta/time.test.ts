import { expect, test } from 'vitest'
import { age, formatMicroTime, formatTime, humanDuration, parseTime } from './time.ts'

const S = 1000
const M = 60 * S
const H = 60 * M
const D = 24 * H

test.each([
  [-5 * S, '<invalid>'],
  [-1 * S, '0s'],
  [0, '0s'],
  [5 * S, '5s'],
  [119 * S, '119s'],
  [120 * S, '2m'],
  [150 * S, '2m30s'],
  [9 * M + 59 * S, '9m59s'],
  [10 * M + 5 * S, '10m'],
  [179 * M, '179m'],
  [180 * M, '3h'],
  [3 * H + 5 * M, '3h5m'],
  [8 * H + 5 * M, '8h'],
  [47 * H, '47h'],
  [48 * H, '2d'],
  [2 * D + 3 * H, '2d3h'],
  [8 * D + 3 * H, '8d'],
  [729 * D, '729d'],
  [730 * D, '2y'],
  [740 * D, '2y10d'],
  [3000 * D, '8y'],
])('%i ms reads %s', (milliseconds, text) => {
  expect(humanDuration(milliseconds)).toBe(text)
})

const T = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

test.each([
  ['2026-01-02T03:04:05Z', T - 678],
  ['2026-01-02T03:04:05.678Z', T],
  ['2026-01-02T03:04:05.678000Z', T],
  ['2026-01-02T05:04:05+02:00', T - 678],
  ['2026-01-02T01:34:05-01:30', T - 678],
  ['0001-01-01T00:00:00Z', -62135596800000],
  ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
  ['2026-02-29T00:00:00Z', undefined],
  ['2026-13-01T00:00:00Z', undefined],
  ['2026-01-01T24:00:00Z', undefined],
  ['2026-01-01T00:00:00', undefined],
  ['2026-01-01', undefined],
  ['yesterday', undefined],
  ['', undefined],
])('%s parses to %s', (text, milliseconds) => {
  expect(parseTime(text)).toBe(milliseconds)
})

test('formats', () => {
  expect(formatTime(T)).toBe('2026-01-02T03:04:05Z')
  expect(formatMicroTime(T)).toBe('2026-01-02T03:04:05.678000Z')
  expect(age('2026-01-02T03:04:00Z', T)).toBe('5s')
  expect(age(undefined, T)).toBe('<unknown>')
})
