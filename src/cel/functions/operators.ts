import type { Budget, Functions } from '../library.ts'
import {
  CelError,
  type CelMap,
  type CelValue,
  compare,
  Duration,
  isEqual,
  mapKey,
  noOverload,
  Timestamp,
  Uint,
} from '../values.ts'
import { unitsOf } from './size.ts'

const int = (value: bigint): bigint => {
  if (BigInt.asIntN(64, value) !== value) throw new CelError('integer overflow')
  return value
}
const uint = (value: bigint): Uint => {
  if (BigInt.asUintN(64, value) !== value) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}
const nonZero = (value: bigint, what: string): bigint => {
  if (value === 0n) throw new CelError(what)
  return value
}
const DIVISION = 'division by zero'
const MODULUS = 'modulus by zero'

/** Never called: `&&`, `||`, `?:` and indexes do not evaluate all they are given. */
const special = () => {
  throw noOverload()
}

const equal = (a: CelValue, b: CelValue, budget: Budget) => {
  budget.work(Math.min(unitsOf(a), unitsOf(b)))
  return isEqual(a, b, budget)
}

function isIn(value: CelValue, list: readonly CelValue[], budget: Budget): boolean {
  budget.work(list.length)
  return list.some((item) => isEqual(item, value, budget))
}

const order = (test: (order: number) => boolean) => (a: CelValue, b: CelValue, budget: Budget) => {
  budget.work(Math.min(unitsOf(a), unitsOf(b)))
  return test(compare(a, b))
}

const NUMBERS = ['int', 'uint', 'double']
const ORDERED = ['string', 'bool', 'bytes', 'timestamp', 'duration']

function orders(operator: string, test: (order: number) => boolean): Functions {
  const pairs = [...ORDERED.map((type) => [type, type]), ...NUMBERS.flatMap((a) => NUMBERS.map((b) => [a, b]))]
  return Object.fromEntries(pairs.map(([a, b]) => [`_${operator}_(${a}, ${b}): bool`, order(test)]))
}

export const operators: Functions = {
  '_&&_(bool, bool): bool': special,
  '_||_(bool, bool): bool': special,
  '_[_](list<A>, int): A': special,
  '_[_](map<A, B>, A): B': special,
  '_[_](optional<list<A>>, int): optional<A>': special,
  '_[_](optional<map<A, B>>, A): optional<B>': special,
  '_[?_](list<A>, int): optional<A>': special,
  '_[?_](map<A, B>, A): optional<B>': special,
  '_[?_](optional<list<A>>, int): optional<A>': special,
  '_[?_](optional<map<A, B>>, A): optional<B>': special,
  '!_(bool): bool': (value: boolean) => !value,
  '-_(int): int': (value: bigint) => int(-value),
  '-_(double): double': (value: number) => -value,
  '_==_(A, A): bool': equal,
  '_!=_(A, A): bool': (a: CelValue, b: CelValue, budget: Budget) => !equal(a, b, budget),
  ...orders('<', (result) => result < 0),
  ...orders('<=', (result) => result <= 0),
  ...orders('>', (result) => result > 0),
  ...orders('>=', (result) => result >= 0),
  '@in(A, list<A>): bool': isIn,
  '@in(A, map<A, B>): bool': (key: CelValue, map: CelMap) => map.has(mapKey(key)),
  '_+_(int, int): int': (a: bigint, b: bigint) => int(a + b),
  '_+_(uint, uint): uint': (a: Uint, b: Uint) => uint(a.value + b.value),
  '_+_(double, double): double': (a: number, b: number) => a + b,
  '_+_(string, string): string': (a: string, b: string, budget: Budget) => {
    budget.work(unitsOf(a) + unitsOf(b))
    return a + b
  },
  '_+_(bytes, bytes): bytes': (a: Uint8Array, b: Uint8Array) => new Uint8Array(Buffer.concat([a, b])),
  '_+_(list<A>, list<A>): list<A>': (a: CelValue[], b: CelValue[], budget: Budget) => {
    budget.work(a.length + b.length)
    return [...a, ...b]
  },
  '_+_(timestamp, duration): timestamp': (a: Timestamp, b: Duration) => new Timestamp(a.nanos + b.nanos),
  '_+_(duration, timestamp): timestamp': (a: Duration, b: Timestamp) => new Timestamp(a.nanos + b.nanos),
  '_+_(duration, duration): duration': (a: Duration, b: Duration) => new Duration(int(a.nanos + b.nanos)),
  '_-_(int, int): int': (a: bigint, b: bigint) => int(a - b),
  '_-_(uint, uint): uint': (a: Uint, b: Uint) => uint(a.value - b.value),
  '_-_(double, double): double': (a: number, b: number) => a - b,
  '_-_(timestamp, timestamp): duration': (a: Timestamp, b: Timestamp) => new Duration(int(a.nanos - b.nanos)),
  '_-_(timestamp, duration): timestamp': (a: Timestamp, b: Duration) => new Timestamp(a.nanos - b.nanos),
  '_-_(duration, duration): duration': (a: Duration, b: Duration) => new Duration(int(a.nanos - b.nanos)),
  '_*_(int, int): int': (a: bigint, b: bigint) => int(a * b),
  '_*_(uint, uint): uint': (a: Uint, b: Uint) => uint(a.value * b.value),
  '_*_(double, double): double': (a: number, b: number) => a * b,
  '_/_(int, int): int': (a: bigint, b: bigint) => int(a / nonZero(b, DIVISION)),
  '_/_(uint, uint): uint': (a: Uint, b: Uint) => uint(a.value / nonZero(b.value, DIVISION)),
  '_/_(double, double): double': (a: number, b: number) => a / b,
  '_%_(int, int): int': (a: bigint, b: bigint) => a % nonZero(b, MODULUS),
  '_%_(uint, uint): uint': (a: Uint, b: Uint) => uint(a.value % nonZero(b.value, MODULUS)),
}
