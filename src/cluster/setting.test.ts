import { expect, it } from 'vitest'
import { toggle } from './setting.ts'

it('a toggle is a flag whose value may be left out, and takes true and false', () => {
  const setting = toggle({ scope: 'node', up: 'on or off', default: false })
  expect(setting).toMatchObject({ argument: undefined, flags: { up: { help: 'on or off' } }, default: false })
  expect([setting.parse('true'), setting.parse('false')]).toEqual([true, false])
  expect(() => setting.parse('yes')).toThrow('must be true or false')
  expect(setting.problemWith(false)).toBeUndefined()
  expect(setting.problemWith('yes')).toBe('must be true or false')
})
