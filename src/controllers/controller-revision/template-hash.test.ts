import { expect, test } from 'vitest'
import { templateHash } from './template-hash.ts'

test('the order of fields does not matter, values and collisions do', () => {
  const hash = templateHash({ a: 1, b: { c: ['x'] } })
  expect(templateHash({ b: { c: ['x'] }, a: 1, d: undefined })).toBe(hash)
  expect(templateHash({ a: 1, b: { c: ['y'] } })).not.toBe(hash)
  expect(templateHash({ a: 1, b: { c: ['x'] } }, 1)).not.toBe(hash)
})

test('names made of it stay the same from release to release', () => {
  const hash = templateHash({ spec: { containers: [{ name: 'app', image: 'app:1' }] } })
  expect(hash).toBe('r9k9zkrr42')
})
