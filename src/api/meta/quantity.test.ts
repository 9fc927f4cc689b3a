import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addQuantities,
  canonicalQuantity,
  canonicalResourceQuantity,
  compareQuantities,
  formatQuantity,
  isNegative,
  isZero,
  milliValue,
  parseQuantity,
  type Quantity,
  subtractQuantities,
  value,
} from './quantity.ts'

const q = (text: string): Quantity => parseQuantity(text)!

describe('canonical form', () => {
  test.each([
    ['0', '0'],
    ['0.0', '0'],
    ['-0', '0'],
    ['0Mi', '0'],
    ['1', '1'],
    ['+1', '1'],
    ['-1', '-1'],
    ['100m', '100m'],
    ['0.1', '100m'],
    ['.5', '500m'],
    ['5.', '5'],
    ['0.5', '500m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1.5', '1500m'],
    ['1000', '1k'],
    ['1000k', '1M'],
    ['1024', '1024'],
    ['1024Ki', '1Mi'],
    ['1Ki', '1Ki'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['1023Ki', '1023Ki'],
    ['0.5Mi', '512Ki'],
    ['0.5Ki', '512'],
    ['0.0001Ki', '102400u'],
    ['1.1Ki', '1126400m'],
    ['-1Gi', '-1Gi'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['1e1', '10'],
    ['100e1', '1e3'],
    ['1.5e3', '1500'],
    ['1e-3', '1e-3'],
    ['1E', '1E'],
    ['1000E', '1000E'],
    ['1n', '1n'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1.23456789012n', '2n'],
    ['9223372036854775807', '9223372036854775807'],
    ['100Ei', '9223372036854775807'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['0001', '1'],
  ])('%s -> %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical)
  })

  test.each([
    '',
    '.',
    '+',
    '1.1.1',
    '1K',
    '1mi',
    '1 Gi',
    ' 1',
    '1e',
    'e3',
    '1e+',
    '1m3',
    '0x10',
    '1,5',
    '1e99999',
    // It would print as 21e408, which is none either.
    '2100000000e400',
    'Gi',
    '１',
  ])('%j is no quantity', (text) => {
    // `1E` is exa, `1e` alone has no exponent.
    expect(parseQuantity(text)).toBeUndefined()
  })

  test.each([
    ['1n', '1m'],
    ['100.0001m', '101m'],
    ['0.5', '500m'],
    ['1.5Gi', '1536Mi'],
  ])('%s is %s in a resource list', (text, canonical) => {
    expect(canonicalResourceQuantity(text)).toBe(canonical)
  })
})

describe('arithmetic', () => {
  test.each([
    ['1Gi', '1G', 1],
    ['1024Mi', '1Gi', 0],
    ['1', '1000m', 0],
    ['-1', '1', -1],
    ['1e30', '1', 1],
    ['1n', '0', 1],
    ['9223372036854775807', '9223372036854775806', 1],
  ])('%s <=> %s is %i', (a, b, order) => {
    expect(compareQuantities(q(a), q(b))).toBe(order)
    expect(compareQuantities(q(b), q(a))).toBe(order === 0 ? 0 : -order)
  })

  test.each([
    ['1Gi', '1Gi', '2Gi'],
    ['1Gi', '512Mi', '1536Mi'],
    ['0', '1Gi', '1Gi'],
    ['100m', '1', '1100m'],
    ['1', '-1', '0'],
    ['9223372036854775807', '9223372036854775807', '18446744073709551614'],
  ])('%s + %s = %s', (a, b, sum) => {
    expect(formatQuantity(addQuantities(q(a), q(b)))).toBe(sum)
  })

  test.each([
    ['100m', 100, 1],
    ['1', 1000, 1],
    ['1500m', 1500, 2],
    ['1n', 1, 1],
    ['-1500m', -1500, -2],
    ['1Ki', 1024000, 1024],
    ['0', 0, 0],
    // More than 64 bits hold.
    ['1e400', 2 ** 63, 2 ** 63],
    ['-1e400', -(2 ** 63), -(2 ** 63)],
  ])('%s is %i thousandths, %i whole', (text, milli, whole) => {
    expect(milliValue(q(text))).toBe(milli)
    expect(value(q(text))).toBe(whole)
  })

  test('signs', () => {
    expect([isNegative(q('-1')), isNegative(q('0')), isZero(q('0Gi')), isZero(q('1n'))]).toEqual([
      true,
      false,
      true,
      false,
    ])
  })
})

const quantities = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
    fc.constantFrom('', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'e-2', 'u', 'n'),
  )
  .map(([digits, suffix]) => `${digits}${suffix}`)

describe('properties', () => {
  test('printing and parsing keeps value and text', () => {
    fc.assert(
      fc.property(quantities, (text) => {
        const printed = formatQuantity(q(text))
        expect(compareQuantities(q(printed), q(text))).toBe(0)
        expect(canonicalQuantity(printed)).toBe(printed)
      }),
    )
  })

  test('subtracting what was added gives back the same value', () => {
    fc.assert(
      fc.property(quantities, quantities, (a, b) => {
        expect(compareQuantities(subtractQuantities(addQuantities(q(a), q(b)), q(b)), q(a))).toBe(0)
      }),
    )
  })
})
