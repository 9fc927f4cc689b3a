import { expect, test } from 'vitest'
import { progressLine, pullDisplay } from './pull-progress.ts'

const LAYER = `sha256:${'1234567890ab'.repeat(5)}1234`

test.each([
  [0, 30],
  [15_000_000, 15],
  [30_000_000, 0],
  [99_000_000, 0],
])('a bar of %i bytes has %i open places', (received, open) => {
  const line = progressLine({ layer: LAYER, received, total: 30_000_000 })
  expect(line.split('─').length - 1).toBe(open)
  expect(line).toContain('1234567890ab ')
})

test('an empty layer is complete', () => {
  expect(progressLine({ layer: 'x', received: 0, total: 0 })).not.toContain('─')
})

test('bars are drawn over each other, not too often, and vanish', () => {
  let written = ''
  let now = 0
  const display = pullDisplay({ isTTY: true, write: (text) => (written += text) }, () => now)
  display.show({ layer: 'a', received: 1, total: 10 })
  const first = written
  display.show({ layer: 'a', received: 2, total: 10 })
  expect(written).toBe(first)
  now = 100
  display.show({ layer: 'b', received: 1, total: 10 })
  const second = written.slice(first.length)
  expect(second.startsWith('\u001b[1A\u001b[J')).toBe(true)
  expect(second.split('\n')).toHaveLength(3)
  display.end()
  expect(written.endsWith('\u001b[2A\u001b[J')).toBe(true)
})

test('where nobody looks nothing is drawn', () => {
  let written = ''
  const display = pullDisplay({ write: (text) => (written += text) }, () => 0)
  display.show({ layer: 'a', received: 1, total: 1 })
  display.end()
  expect(written).toBe('')
})
