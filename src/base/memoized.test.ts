import { expect, it } from 'vitest'
import { memoized } from './memoized.ts'

it('computes once for each text, as long as there is room', () => {
  const computed: string[] = []
  const shout = memoized((text) => {
    computed.push(text)
    return { text: text.toUpperCase() }
  }, 2)
  expect([shout('a'), shout('b'), shout('a')].map(({ text }) => text)).toEqual(['A', 'B', 'A'])
  expect(shout('a')).toBe(shout('a'))
  expect(computed).toEqual(['a', 'b'])
  shout('c')
  shout('a')
  expect(computed).toEqual(['a', 'b', 'c', 'a'])
})

it('keeps no long texts', () => {
  const copy = memoized((text) => ({ text }))
  const long = 'x'.repeat(65)
  expect(copy(long)).not.toBe(copy(long))
})
