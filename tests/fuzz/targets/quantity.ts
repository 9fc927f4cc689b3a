import assert from 'node:assert'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  milliValue,
  negateQuantity,
  parseQuantity,
  subtractQuantities,
} from '../../../src/api/meta/quantity.ts'
import type { FuzzTarget } from '../engine/target.ts'

/** Amounts of resources. */
export const target: FuzzTarget = {
  steps: { fixed: 5000, perByte: 100 },
  maxBytes: 1200,
  dictionary: [
    'Ki',
    'Mi',
    'Gi',
    'Ei',
    'm',
    'u',
    'n',
    'k',
    'M',
    'E',
    'e',
    'E-',
    '+',
    '-',
    '.',
    '0',
    '9223372036854775807',
    '1e400',
  ],
  run(input) {
    const quantity = parseQuantity(input.toString())
    if (!quantity) return undefined
    const printed = formatQuantity(quantity)
    const again = parseQuantity(printed)
    assert(again, `${printed} cannot be read again`)
    assert.strictEqual(compareQuantities(again, quantity), 0, `${printed} is another amount`)
    assert.strictEqual(formatQuantity(again), printed)
    assert.strictEqual(compareQuantities(addQuantities(subtractQuantities(quantity, again), quantity), quantity), 0)
    assert.strictEqual(compareQuantities(negateQuantity(negateQuantity(quantity)), quantity), 0)
    assert(!Number.isNaN(milliValue(quantity)))
    return printed
  },
}
