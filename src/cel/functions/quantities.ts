import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  subtractQuantities,
} from '../../api/meta/quantity.ts'
import type { Functions } from '../library.ts'
import { CelError, type OpaqueValue } from '../values.ts'

const KIND = 'kubernetes.Quantity'

class QuantityValue implements OpaqueValue {
  readonly celKind = KIND
  readonly quantity: Quantity

  constructor(quantity: Quantity) {
    this.quantity = quantity
  }

  /** The same for `1` and `1000m`, whatever the format. */
  get key(): string {
    return formatQuantity({ ...this.quantity, format: 'DecimalSI' })
  }
}

function quantity(text: string): QuantityValue {
  const parsed = parseQuantity(text)
  if (!parsed)
    throw new CelError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
  return new QuantityValue(parsed)
}

/** The exact whole number, if the quantity is one that fits 64 bits. */
function integerOf({ quantity }: QuantityValue): bigint | undefined {
  const { digits, exponent } = quantity as { digits: bigint | number; exponent: number }
  const scale = 10n ** BigInt(Math.abs(exponent))
  const whole = exponent >= 0 ? BigInt(digits) * scale : BigInt(digits) / scale
  const isExact = exponent >= 0 || BigInt(digits) % scale === 0n
  return isExact && BigInt.asIntN(64, whole) === whole ? whole : undefined
}

const compare = (a: QuantityValue, b: QuantityValue) => compareQuantities(a.quantity, b.quantity)
const whole = (value: bigint) => new QuantityValue(quantityOf(Number(value)))

export const quantities: Functions = {
  'quantity(string): kubernetes.Quantity': quantity,
  'isQuantity(string): bool': (text: string) => parseQuantity(text) !== undefined,
  'kubernetes.Quantity.sign(): int': (value: QuantityValue) => BigInt(Math.sign(Number(value.quantity.digits))),
  'kubernetes.Quantity.isInteger(): bool': (value: QuantityValue) => integerOf(value) !== undefined,
  'kubernetes.Quantity.asInteger(): int': (value: QuantityValue) => {
    const integer = integerOf(value)
    if (integer === undefined) throw new CelError('cannot convert value to integer')
    return integer
  },
  'kubernetes.Quantity.asApproximateFloat(): double': ({ quantity: { digits, exponent } }: QuantityValue) =>
    Number(`${digits}e${exponent}`),
  'kubernetes.Quantity.isGreaterThan(kubernetes.Quantity): bool': (a: QuantityValue, b: QuantityValue) =>
    compare(a, b) > 0,
  'kubernetes.Quantity.isLessThan(kubernetes.Quantity): bool': (a: QuantityValue, b: QuantityValue) =>
    compare(a, b) < 0,
  'kubernetes.Quantity.compareTo(kubernetes.Quantity): int': (a: QuantityValue, b: QuantityValue) =>
    BigInt(Math.sign(compare(a, b))),
  'kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity': (a: QuantityValue, b: QuantityValue) =>
    new QuantityValue(addQuantities(a.quantity, b.quantity)),
  'kubernetes.Quantity.add(int): kubernetes.Quantity': (a: QuantityValue, b: bigint) =>
    new QuantityValue(addQuantities(a.quantity, whole(b).quantity)),
  'kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity': (a: QuantityValue, b: QuantityValue) =>
    new QuantityValue(subtractQuantities(a.quantity, b.quantity)),
  'kubernetes.Quantity.sub(int): kubernetes.Quantity': (a: QuantityValue, b: bigint) =>
    new QuantityValue(subtractQuantities(a.quantity, whole(b).quantity)),
}
