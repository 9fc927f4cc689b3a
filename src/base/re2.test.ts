import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { loadRe2, type Re2 } from './re2.ts'

/** As controller-gen writes it. */
const NUMBER = '(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))'
const QUANTITY = `^(\\+|-)?${NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?${NUMBER}))?$`

let re2: Re2
beforeAll(async () => {
  re2 = await loadRe2()
})

describe('patterns', () => {
  it.each([
    ['^[a-z]+$', 'abc', true],
    ['^[a-z]+$', 'ab1', false],
    ['b', 'abc', true],
    ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', 'a-b', true],
    ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', 'a-', false],
    ['^(a|b)+$', 'abab', true],
    ['^\\d{2,3}$', '123', true],
    ['^.*$', 'a\nb', false],
    ['(?i)^ABC$', 'abc', true],
    ['^[\\s]+$', '\u00a0', false],
    ['^v[0-9]+\\.x$', 'v1.x', true],
  ])('%s on %j', (pattern, text, result) => expect(re2.matches(pattern, text)).toBe(result))

  it('of any kind mean the same by every way they take', () => {
    const atoms = fc.constantFrom('a', '[a-c]', '[^b]', '\\.', '-', '(ab)', '([ab]c)', '[a-z0-9]')
    const repeats = fc.constantFrom('', '', '', '?', '*', '+', '{2}', '{1,2}')
    const pattern = fc.array(fc.tuple(atoms, repeats), { maxLength: 5 }).map((parts) => `^${parts.flat().join('')}$`)
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '.', '-', '1'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (one, value) => {
        // A flag that changes nothing keeps a pattern with the engine of linear time.
        expect(re2.matches(one, value)).toBe(re2.matches(`(?s)${one}`, value))
      }),
      { numRuns: 2000 },
    )
  })

  it('of quantities mean the same by every way they take', () => {
    const text = fc.string({
      unit: fc.constantFrom('1', '0', '.', '+', '-', 'e', 'E', 'K', 'M', 'i', 'm', 'x'),
      maxLength: 8,
    })
    fc.assert(
      fc.property(text, (value) => {
        expect(re2.matches(QUANTITY, value)).toBe(re2.matches(`(?s)${QUANTITY}`, value))
      }),
      { numRuns: 3000 },
    )
    for (const long of ['1'.repeat(100_000), `1.${'1'.repeat(100_000)}`, `1e${'1'.repeat(100_000)}`])
      expect([re2.matches(QUANTITY, long), re2.matches(QUANTITY, `${long}x`)]).toEqual([true, false])
  })

  it('cost linear time', () => {
    const text = `${'a'.repeat(50_000)}!`
    for (const pattern of [
      '^(a+)+$',
      '^(a|a)*$',
      '^a*a*a*$',
      '^[a-z]*$',
      '^(a*)?$',
      `^${'a?'.repeat(40)}${'a'.repeat(40)}b$`,
    ])
      expect(re2.matches(pattern, text)).toBe(false)
  })
})

it('tells what is wrong with a pattern', () => {
  expect(re2.problem('a+')).toBeUndefined()
  expect(re2.problem('(')).toContain('missing')
  expect(re2.problem('(?=a)')).toBeDefined()
  expect(re2.problem('^\\1$')).toBeDefined()
})

it('finds all matches', () => {
  expect(re2.findAll('[0-9]+', 'a1b22c333', -1)).toEqual(['1', '22', '333'])
  expect(re2.findAll('[0-9]+', 'a1b22c333', 2)).toEqual(['1', '22'])
  expect(re2.findAll('x', 'abc', -1)).toEqual([])
})
