import { memoized } from '../../base/memoized.ts'

/**
 * Kubernetes quantities: `100m`, `1.5Gi`, `2e3`. Exact: a decimal fraction `digits * 10^exponent`, with at least nano
 * precision. Digits are a plain number while they fit, a bigint when they don't.
 */
export interface Quantity {
  readonly digits: number | bigint
  readonly exponent: number
  /** How it prints: with powers of ten, of 1024, or with an exponent. */
  readonly format: 'DecimalSI' | 'BinarySI' | 'DecimalExponent'
}

export const QUANTITY_FORMAT_MESSAGE =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

const DECIMAL_SUFFIXES = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
])
const DECIMAL_PREFIXES = new Map([...DECIMAL_SUFFIXES].map(([suffix, exponent]) => [exponent, suffix]))
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const NANO = -9
/** Larger binary quantities are cut to this, 2^63 - 1. */
const BINARY_CAP = 2n ** 63n - 1n
/** Larger powers of ten only serve to exhaust memory. */
const EXPONENT_LIMIT = 400

const SYNTAX = /^([+-]?)(\d*)(?:\.(\d*))?(?:([A-Za-z]+)([+-]?\d*))?$/
/** Longer texts only serve to keep the reader busy. */
const MAX_LENGTH = 1024

/** A cluster writes few different quantities, each of them very often. */
export const parseQuantity = memoized(parse)

function parse(text: string): Quantity | undefined {
  const match = text.length > MAX_LENGTH ? null : SYNTAX.exec(text)
  if (!match) return undefined
  const [, sign, whole = '', fraction = '', suffix = '', power = ''] = match
  if (whole === '' && fraction === '') return undefined
  const scale = parseSuffix(suffix, power)
  if (!scale) return undefined
  const { format } = scale
  // The same power of ten however many zeros are written before the exponent: it prints with fewer.
  if (format === 'DecimalExponent' && whole.length - 1 + scale.power > EXPONENT_LIMIT) return undefined
  const unsigned = compact(`${whole}${fraction}`)
  const digits = sign === '-' ? -unsigned : unsigned
  const exponent = -fraction.length
  if (format !== 'BinarySI') return roundedUp({ digits, exponent: exponent + scale.power, format }, NANO)
  return binary(times(digits, 1024 ** scale.power), exponent)
}

function parseSuffix(suffix: string, power: string): { format: Quantity['format']; power: number } | undefined {
  if (power !== '') {
    // With digits behind it, only the exponent form is left: 1e3, 1E-3.
    if ((suffix !== 'e' && suffix !== 'E') || power === '+' || power === '-') return undefined
    const exponent = Number(power)
    return Math.abs(exponent) > EXPONENT_LIMIT ? undefined : { format: 'DecimalExponent', power: exponent }
  }
  const decimal = DECIMAL_SUFFIXES.get(suffix)
  if (decimal !== undefined) return { format: 'DecimalSI', power: decimal }
  const binaryPower = BINARY_SUFFIXES.indexOf(suffix)
  return binaryPower < 0 ? undefined : { format: 'BinarySI', power: binaryPower }
}

function binary(digits: number | bigint, exponent: number): Quantity {
  const quantity = roundedUp({ digits, exponent, format: 'BinarySI' }, NANO)
  const magnitude = abs(quantity)
  if (compareQuantities(magnitude, { digits: BINARY_CAP, exponent: 0, format: 'BinarySI' }) > 0)
    return { digits: quantity.digits < 0 ? -BINARY_CAP : BINARY_CAP, exponent: 0, format: 'BinarySI' }
  // Less than one has no binary form.
  const belowOne = compareQuantities(magnitude, quantityOf(1)) < 0 && quantity.digits !== 0
  return belowOne ? { ...quantity, format: 'DecimalSI' } : quantity
}

export const quantityOf = (value: number, format: Quantity['format'] = 'DecimalSI'): Quantity => ({
  digits: value,
  exponent: 0,
  format,
})

export const milliQuantity = (milli: number, format: Quantity['format'] = 'DecimalSI'): Quantity => ({
  digits: milli,
  exponent: -3,
  format,
})

export function compareQuantities(a: Quantity, b: Quantity): number {
  const [left, right] = aligned(a, b)
  return left < right ? -1 : left > right ? 1 : 0
}

/** Prints in the format of `a`, or of `b` where `a` is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  const [left, right] = aligned(a, b)
  const format = isZero(a) ? b.format : a.format
  const exponent = Math.min(a.exponent, b.exponent)
  const sum = typeof left === 'number' && typeof right === 'number' ? left + right : Number.NaN
  if (Number.isSafeInteger(sum)) return { digits: sum, exponent, format }
  return { digits: compactBig(BigInt(left) + BigInt(right)), exponent, format }
}

export const negateQuantity = (q: Quantity): Quantity => ({ ...q, digits: -q.digits })
export const subtractQuantities = (a: Quantity, b: Quantity): Quantity => addQuantities(a, negateQuantity(b))
export const isZero = (q: Quantity) => q.digits === 0 || q.digits === 0n
export const isNegative = (q: Quantity) => q.digits < 0

/** The value in thousandths, rounded away from zero: CPU as the scheduler counts it. */
export const milliValue = (q: Quantity): number => scaledTo(q, -3)
/** The value in whole units, rounded away from zero: bytes, counts. */
export const value = (q: Quantity): number => scaledTo(q, 0)

/** Of what does not fit into 64 bits, the nearest that does: sums of it stay finite. */
function scaledTo(q: Quantity, exponent: number): number {
  const rounded = roundedUp(q, exponent)
  const scaled = Number(timesPowerOfTen(rounded.digits, rounded.exponent - exponent))
  return Math.max(-INT64, Math.min(INT64, scaled))
}

const INT64 = 2 ** 63

/** With no digit below `exponent`; what is cut off rounds away from zero, so that nothing asked for is lost. */
export function roundedUp(q: Quantity, exponent: number): Quantity {
  if (q.exponent >= exponent) return q
  const shift = exponent - q.exponent
  const digits = BigInt(q.digits)
  const divisor = 10n ** BigInt(shift)
  const quotient = digits / divisor
  const away = digits % divisor === 0n ? 0n : digits > 0n ? 1n : -1n
  return { digits: compactBig(quotient + away), exponent, format: q.format }
}

/** The canonical form: no fraction, the largest suffix that keeps every digit. */
export function formatQuantity(q: Quantity): string {
  if (isZero(q)) return '0'
  if (q.format === 'BinarySI' && scaledExactly(q) !== undefined) {
    const whole = scaledExactly(q)!
    if (whole >= 1024n || whole <= -1024n) return formatBinary(whole)
  }
  return formatDecimal(q, q.format === 'DecimalExponent')
}

function scaledExactly(q: Quantity): bigint | undefined {
  if (q.exponent >= 0) return BigInt(q.digits) * 10n ** BigInt(q.exponent)
  const divisor = 10n ** BigInt(-q.exponent)
  const digits = BigInt(q.digits)
  return digits % divisor === 0n ? digits / divisor : undefined
}

function formatBinary(whole: bigint): string {
  let rest = whole
  let power = 0
  while (rest % 1024n === 0n && power < BINARY_SUFFIXES.length - 1) {
    rest /= 1024n
    power++
  }
  return `${rest}${BINARY_SUFFIXES[power]}`
}

function formatDecimal(q: Quantity, withExponent: boolean): string {
  let digits = String(q.digits)
  let exponent = q.exponent
  let zeros = 0
  while (digits.endsWith('0', digits.length - zeros)) zeros++
  digits = digits.slice(0, digits.length - zeros)
  exponent += zeros
  // Suffixes come in steps of a thousand, up to exa.
  const padding = withExponent ? mod3(exponent) : Math.max(mod3(exponent), exponent - 18)
  digits += '0'.repeat(padding)
  exponent -= padding
  if (exponent === 0) return digits
  return withExponent ? `${digits}e${exponent}` : `${digits}${DECIMAL_PREFIXES.get(exponent)}`
}

const mod3 = (n: number) => ((n % 3) + 3) % 3

/** The canonical form of a quantity in text; undefined if it is none. */
export const canonicalQuantity = memoized((text): string | undefined => {
  const parsed = parseQuantity(text)
  return parsed && formatQuantity(parsed)
})

/** The canonical form in a resource list (requests, limits, capacity), where the finest step is a thousandth. */
export const canonicalResourceQuantity = memoized((text): string | undefined => {
  const parsed = parseQuantity(text)
  return parsed && formatQuantity(roundedUp(parsed, -3))
})

function compact(digits: string): number | bigint {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

const compactBig = (digits: bigint): number | bigint => {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : digits
}

function times(digits: number | bigint, factor: number): number | bigint {
  const product = typeof digits === 'number' ? digits * factor : Number.NaN
  return Number.isSafeInteger(product) ? product : compactBig(BigInt(digits) * BigInt(factor))
}

/** Powers of ten up to this exponent are exact as numbers. */
const EXACT_POWER = 22

const timesPowerOfTen = (digits: number | bigint, power: number): number | bigint =>
  power <= EXACT_POWER ? times(digits, 10 ** power) : BigInt(digits) * 10n ** BigInt(power)

const abs = (q: Quantity): Quantity => (q.digits < 0 ? negateQuantity(q) : q)

/** Both digits at the smaller of the two exponents. */
function aligned(a: Quantity, b: Quantity): [number | bigint, number | bigint] {
  if (a.exponent === b.exponent) return [a.digits, b.digits]
  const shift = Math.abs(a.exponent - b.exponent)
  return a.exponent > b.exponent
    ? [timesPowerOfTen(a.digits, shift), b.digits]
    : [a.digits, timesPowerOfTen(b.digits, shift)]
}
