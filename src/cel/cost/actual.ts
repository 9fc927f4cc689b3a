import { type CelValue, kindOf, type OpaqueValue, Optional } from '../values.ts'

/** What a call costs once the values are known, in the units of Kubernetes. */
export type ActualCost = (args: readonly CelValue[], result: CelValue) => number

const MAKE_LIST = 10
const AUTHORIZER_CHECK = 350_000
const TRAVERSAL = 0.1
const REGEX = 0.25

const tenth = (size: number, walks = 1) => Math.ceil(size * walks * TRAVERSAL)

/** Characters, elements or entries; one for everything else. */
function sizeOf(value: CelValue | undefined): number {
  if (typeof value === 'string') return characters(value)
  if (typeof value !== 'object' || value === null) return 1
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length
  if (value instanceof Map) return value.size
  if (value instanceof Optional) return value.value === undefined ? 1 : sizeOf(value.value)
  return (value as OpaqueValue).size ?? 1
}

const SURROGATES = /[\ud800-\udbff][\udc00-\udfff]/g
const characters = (text: string) => text.length - (text.match(SURROGATES)?.length ?? 0)

/** One for each value within, a tenth for each byte of text. */
function traversalOf(value: CelValue): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * TRAVERSAL)
  if (value instanceof Uint8Array) return Math.floor(value.length * TRAVERSAL)
  if (Array.isArray(value))
    return (value as readonly CelValue[]).reduce<number>((sum, one) => sum + traversalOf(one), 0)
  if (!(value instanceof Map)) return 1
  let sum = 0
  for (const [key, one] of value) sum += traversalOf(key) + traversalOf(one)
  return sum
}

const walk =
  (walks = 1): ActualCost =>
  ([text]) =>
    tenth(sizeOf(text), walks)

const match: ActualCost = ([text, pattern]) => tenth(1 + sizeOf(text)) * Math.ceil(sizeOf(pattern) * REGEX)
const search: ActualCost = ([list]) => traversalOf(list!)
const shorter: ActualCost = ([a, b]) => {
  // Most texts are short: then their characters need not be counted.
  if (typeof a === 'string' && a.length <= 10 && a !== '' && b !== '') return 1
  return tenth(Math.min(sizeOf(a), sizeOf(b)))
}
const isText = (value: CelValue | undefined) => typeof value === 'string' || value instanceof Uint8Array

const AT_ONCE = /^(kubernetes|net)\./
const equal: ActualCost = (args) => (AT_ONCE.test(kindOf(args[0]!)) ? 1 : shorter(args, null))
const order: ActualCost = (args) => (isText(args[0]) ? shorter(args, null) : 1)

const madeList = (size: number, factor = 1) => Math.floor(size * factor) + 1 + MAKE_LIST
const selfCompare: ActualCost = ([list]) => {
  const items = list as readonly CelValue[]
  return madeList(items.length ** 2, isText(items[0]) ? 2 + TRAVERSAL : 2)
}
/** Sorting by keys. */
export const sortCost = (keys: readonly CelValue[]) => selfCompare([keys], null)

const sets =
  (factor: number): ActualCost =>
  ([a, b]) =>
    1 + sizeOf(a) * sizeOf(b) * factor

/** A text has to be read before it is compared. */
const parsing = (value: CelValue | undefined) => (typeof value === 'string' ? tenth(sizeOf(value)) : 0)

const selector: ActualCost = ([, text]) => {
  const size = sizeOf(text)
  return MAKE_LIST + tenth(size) + Math.ceil(Math.ceil(size * 0.5) * 50)
}

const same = (names: string, cost: ActualCost): Record<string, ActualCost> =>
  Object.fromEntries(names.split(' ').map((name) => [name, cost]))

/** What is not here costs one unit. */
const COSTS: Readonly<Record<string, ActualCost>> = {
  check: () => AUTHORIZER_CHECK,
  ...same('fieldSelector labelSelector', selector),
  ...same('isSorted sum max min indexOf lastIndexOf', search),
  ...same('url lowerAscii upperAscii substring trim jsonpatch.escapeKey', walk()),
  ...same('cidr isIP isCIDR quantity isQuantity semver isSemver', walk()),
  ...same('startsWith endsWith strings.quote format', walk()),
  ...same('replace split ip.isCanonical', walk(2)),
  join: (_, result) => tenth(sizeOf(result), 2),
  ...same('find findAll matches', match),
  ip: (args) => (typeof args[0] === 'string' ? tenth(sizeOf(args[0])) : 1),
  containsIP: ([cidr, ip]) => tenth(sizeOf(cidr), 2) + parsing(ip),
  containsCIDR: ([cidr, other]) => tenth(sizeOf(cidr), 2) + tenth(sizeOf(cidr)) + 1 + parsing(other),
  validate: ([format, text]) => tenth(1 + sizeOf(text)) * Math.ceil(((format as OpaqueValue).patternSize ?? 0) * REGEX),
  string: ([value]) => (value instanceof Uint8Array ? tenth(value.length) : 1),
  bytes: ([value]) => (typeof value === 'string' ? tenth(sizeOf(value)) : 1),
  '@in': ([, container]) => (Array.isArray(container) ? container.length : 1),
  contains: ([text, part]) => tenth(sizeOf(text)) * tenth(sizeOf(part)),
  '_+_': ([a, b]) => (isText(a) ? tenth(sizeOf(a) + sizeOf(b)) : 1),
  ...same('_<_ _<=_ _>_ _>=_', order),
  '_==_': equal,
  '_!=_': shorter,
  ...same('sets.contains sets.intersects', sets(1)),
  'sets.equivalent': sets(2),
  ...same('slice lists.range', (_, result) => madeList(sizeOf(result))),
  reverse: ([value], result) => (Array.isArray(value) ? madeList(sizeOf(result)) : 1),
  flatten: ([list, depth]) => madeList(sizeOf(list), depth === undefined ? 1 : Number(depth)),
  ...same('distinct sort', selfCompare),
}

const ONE: ActualCost = () => 1

/** By its name, with its namespace if it has one. */
export const actualCost = (name: string): ActualCost => (Object.hasOwn(COSTS, name) ? COSTS[name]! : ONE)
