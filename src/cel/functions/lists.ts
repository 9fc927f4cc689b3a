import type { Budget, Functions } from '../library.ts'
import { CelError, type CelValue, compare, Duration, isEqual, kindOf, Optional, Uint } from '../values.ts'

type List = readonly CelValue[]

const walk = (list: List, budget: Budget) => {
  budget.work(list.length)
  return list
}

function extreme(list: List, sign: number, name: string, budget: Budget): CelValue {
  if (list.length === 0) throw new CelError(`${name} called on empty list`)
  return walk(list, budget).reduce((best, item) => (compare(item, best) * sign > 0 ? item : best))
}

function isSorted(list: List, budget: Budget): boolean {
  return walk(list, budget).every((item, i) => i === 0 || compare(list[i - 1]!, item) <= 0)
}

function sum(list: List, zero: CelValue): CelValue {
  if (list.length === 0) return zero
  switch (kindOf(list[0]!)) {
    case 'int': {
      const total = (list as bigint[]).reduce((a, b) => a + b, 0n)
      if (BigInt.asIntN(64, total) !== total) throw new CelError('integer overflow')
      return total
    }
    case 'uint':
      return new Uint((list as Uint[]).reduce((a, b) => a + b.value, 0n))
    case 'duration':
      return new Duration((list as Duration[]).reduce((a, b) => a + b.nanos, 0n))
    default:
      return (list as number[]).reduce((a, b) => a + b, 0)
  }
}

function slice(list: List, from: bigint, to: bigint, budget: Budget): List {
  if (from < 0n || to < from || to > list.length)
    throw new CelError(`cannot slice(${from}, ${to}), list is length ${list.length}`)
  budget.work(Number(to - from))
  return list.slice(Number(from), Number(to))
}

function flatten(list: List, depth: bigint, budget: Budget): List {
  if (depth < 0n) throw new CelError('level must be non-negative')
  const flat: CelValue[] = []
  for (const item of walk(list, budget)) {
    if (Array.isArray(item) && depth > 0n) flat.push(...flatten(item, depth - 1n, budget))
    else flat.push(item)
  }
  return flat
}

/** Compares each item with those kept, so it costs the square. */
function distinct(list: List, budget: Budget): List {
  const kept: CelValue[] = []
  for (const item of list) {
    budget.work(kept.length + 1)
    if (!kept.some((one) => isEqual(one, item, budget))) kept.push(item)
  }
  return kept
}

const includes = (list: List, item: CelValue, budget: Budget) => list.some((one) => isEqual(one, item, budget))

function containsAll(list: List, sub: List, budget: Budget): boolean {
  budget.work(list.length * sub.length)
  return sub.every((item) => includes(list, item, budget))
}

const MAX_RANGE = 1_000_000n

function range(count: bigint, budget: Budget): List {
  if (count > MAX_RANGE) throw new CelError('range is too large')
  budget.work(Number(count))
  return Array.from({ length: Number(count) }, (_, i) => BigInt(i))
}

const COMPARABLE = ['int', 'uint', 'double', 'bool', 'string', 'bytes', 'duration', 'timestamp']
const ZEROS: Readonly<Record<string, CelValue>> = {
  int: 0n,
  uint: new Uint(0n),
  double: 0,
  duration: new Duration(0n),
}

const forComparable = Object.fromEntries(
  COMPARABLE.flatMap((type) => [
    [`list<${type}>.isSorted(): bool`, isSorted],
    [`list<${type}>.min(): ${type}`, (list: List, budget: Budget) => extreme(list, -1, 'min', budget)],
    [`list<${type}>.max(): ${type}`, (list: List, budget: Budget) => extreme(list, 1, 'max', budget)],
    [`list<${type}>.sort(): list<${type}>`, (list: List, budget: Budget) => walk(list, budget).toSorted(compare)],
  ]),
) as Functions

const forNumbers = Object.fromEntries(
  Object.entries(ZEROS).map(([type, zero]) => [
    `list<${type}>.sum(): ${type}`,
    (list: List, budget: Budget) => sum(walk(list, budget), zero),
  ]),
) as Functions

export const lists: Functions = {
  ...forComparable,
  ...forNumbers,
  'list<A>.indexOf(A): int': (list: List, item: CelValue, budget: Budget) =>
    BigInt(walk(list, budget).findIndex((one) => isEqual(one, item, budget))),
  'list<A>.lastIndexOf(A): int': (list: List, item: CelValue, budget: Budget) =>
    BigInt(walk(list, budget).findLastIndex((one) => isEqual(one, item, budget))),
  'list<A>.slice(int, int): list<A>': slice,
  'list<A>.distinct(): list<A>': distinct,
  'list<A>.reverse(): list<A>': (list: List, budget: Budget) => walk(list, budget).toReversed(),
  'list<A>.first(): optional<A>': (list: List) => (list.length > 0 ? new Optional(list[0]!) : Optional.NONE),
  'list<A>.last(): optional<A>': (list: List) => (list.length > 0 ? new Optional(list.at(-1)!) : Optional.NONE),
  'list<list<A>>.flatten(): list<A>': (list: List, budget: Budget) => flatten(list, 1n, budget),
  'list<dyn>.flatten(int): list<dyn>': flatten,
  'lists.range(int): list<int>': range,
  'sets.contains(list<A>, list<A>): bool': containsAll,
  'sets.equivalent(list<A>, list<A>): bool': (a: List, b: List, budget: Budget) =>
    containsAll(a, b, budget) && containsAll(b, a, budget),
  'sets.intersects(list<A>, list<A>): bool': (a: List, b: List, budget: Budget) => {
    budget.work(a.length * b.length)
    return a.some((item) => includes(b, item, budget))
  },
}
