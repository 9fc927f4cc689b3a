import { expect, it } from 'vitest'
import { toggle } from './setting.ts'

it('a toggle is a flag without an argument, true when given', () => {
  const setting = toggle({ scope: 'node', up: 'on or off', default: false })
  expect(setting).toMatchObject({ argument: undefined, flags: { up: { help: 'on or off' } }, default: false })
  expect(setting.parse('')).toBe(true)
  expect(setting.problemWith(false)).toBeUndefined()
  expect(setting.problemWith('yes')).toBe('must be true or false')
})
