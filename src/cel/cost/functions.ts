import type { Overload } from '../library.ts'
import { type Estimate, plus, regexCost, type Sized, scaled, sizeOf, times, traversal, UNKNOWN } from '../sizes.ts'

/** A call of a function that was found, with what is known of what it is given. */
export interface CostedCall {
  /** With its namespace, if it has one. */
  readonly name: string
  readonly target: Estimate | undefined
  readonly args: readonly Estimate[]
  /** The kinds of the arguments. */
  readonly kinds: readonly string[]
  /** Those that may be meant. */
  readonly overloads: readonly Overload[]
  /** The items of the target, where it is a list; their kind. */
  readonly elementKind: string | undefined
  readonly elements: Sized | undefined
  /** A number that stands in the expression. */
  literal(arg: number): number | undefined
}

/** What the call itself costs, besides finding what it is given. */
export interface CallCost {
  readonly cost: number
  readonly size?: number
}

type CostOf = (call: CostedCall) => CallCost | undefined

const ONE: CallCost = { cost: 1 }
const MAKE_LIST = 10
const AUTHORIZER_CHECK = 350_000
const MAX_NAME_PATTERN = 128
/** An address in bytes. */
const ADDRESS = 16

const takes = ({ overloads }: CostedCall, ...kinds: string[]) =>
  overloads.some(({ params }) => params.some(({ kind }) => kinds.includes(kind)))

const walkFirst: CostOf = ({ args: [text] }) => text && { cost: traversal(sizeOf(text)) }
const walkFirstKept: CostOf = ({ args: [text] }) => text && { cost: traversal(sizeOf(text)), size: sizeOf(text) }
const walkTarget: CostOf = ({ target }) => target && { cost: traversal(sizeOf(target)), size: sizeOf(target) }

const elementSize = ({ elements }: CostedCall) => elements?.max ?? UNKNOWN

/** Compares every element; those of text are walked over. */
const search: CostOf = (call) => {
  const { target, elementKind } = call
  if (!target) return undefined
  if (elementKind === undefined) return { cost: traversal(sizeOf(target)) }
  const isText = elementKind === 'string' || elementKind === 'bytes'
  return { cost: times(sizeOf(target), 1 + (isText ? traversal(elementSize(call)) : 0)) }
}

const find: CostOf = ({ target, args: [pattern] }) =>
  target && pattern && { cost: regexCost(sizeOf(target), sizeOf(pattern)), size: sizeOf(target) }

const replace: CostOf = ({ target, args: [old, by] }) => {
  if (!target || !old || !by) return undefined
  const text = sizeOf(target)
  const least = old.least ?? 0
  let size = text
  // Nothing stands around every character; else the shortest parts become the longest.
  if (least === 0) size = plus(times(plus(text, 1), sizeOf(by)), text)
  else if (sizeOf(by) > least) size = times(Math.ceil(text / least), sizeOf(by))
  return { cost: traversal(text, 2), size }
}

const split: CostOf = ({ target, literal }) => {
  if (!target) return undefined
  const limit = literal(1)
  return { cost: traversal(sizeOf(target), 2), size: limit === undefined || limit < 0 ? sizeOf(target) : limit }
}

const join: CostOf = (call) => {
  const { target, args } = call
  if (!target) return undefined
  const count = sizeOf(target)
  const texts = call.elementKind === undefined ? 0 : times(count, elementSize(call))
  const separators = args[0] ? times(sizeOf(args[0]), Math.max(0, count - 1)) : 0
  const size = plus(texts, separators)
  return { cost: traversal(size), size }
}

const selector: CostOf = ({ args: [text] }) =>
  text && { cost: plus(MAKE_LIST, traversal(sizeOf(text)), scaled(scaled(sizeOf(text), 0.5), 50)) }

const withParsing = (call: CostedCall, cost: number): CallCost => ({
  cost: plus(cost, takes(call, 'string') ? traversal(sizeOf(call.args[0]!)) : 0),
})
const COMPARE_ADDRESSES = traversal(2 * ADDRESS)

const madeList = (factor: number, size: number): CallCost => ({ cost: plus(scaled(size, factor), 1, MAKE_LIST), size })
const sets =
  (factor: number): CostOf =>
  ({ args: [a, b] }) =>
    a && b && { cost: plus(scaled(times(sizeOf(a), sizeOf(b)), factor), 1) }

/** Sorting compares everything with everything, in the worst case. */
export const sortCost = (size: number, kind: string | undefined): CallCost =>
  madeList(kind === 'string' || kind === 'bytes' ? 2.1 : 2, times(size, size))

const compare: CostOf = (call) => (takes(call, 'string', 'bytes') ? { cost: shorter(call.args) } : undefined)
const shorter = (args: readonly Estimate[]) => traversal(Math.min(...args.map(sizeOf)))

const equal: CostOf = ({ name, args, kinds: [left, right] }) => {
  const kind = name === '_==_' && left === right ? left! : ''
  if (AT_ONCE.has(kind)) return ONE
  if (kind === 'kubernetes.NamedFormat') return { cost: traversal(MAX_FORMAT) }
  if (kind === 'kubernetes.URL') return { cost: traversal(args[1]!.size ?? 1) }
  return { cost: shorter(args) }
}

const MAX_FORMAT = 64
const AT_ONCE = new Set([
  'net.IP',
  'net.CIDR',
  'kubernetes.Quantity',
  'kubernetes.Semver',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.ResourceCheck',
  'kubernetes.authorization.Decision',
])

const add: CostOf = (call) => {
  const size = plus(...call.args.map(sizeOf))
  if (takes(call, 'string', 'bytes')) return { cost: traversal(size), size }
  return takes(call, 'list') ? { cost: 1, size } : undefined
}

const same = (names: string, cost: CostOf): Record<string, CostOf> =>
  Object.fromEntries(names.split(' ').map((name) => [name, cost]))

/** The figures of Kubernetes: which rules a definition may have depends on them. What is not here costs one unit. */
const COSTS: Readonly<Record<string, CostOf>> = {
  check: () => ({ cost: AUTHORIZER_CHECK }),
  ...same('fieldSelector labelSelector', selector),
  ...same('isSorted sum max min indexOf lastIndexOf', search),
  ...same('url jsonpatch.escapeKey', walkFirstKept),
  ...same('lowerAscii upperAscii substring trim', walkTarget),
  replace,
  split,
  join,
  ...same('find findAll', find),
  ...same('cidr isIP isCIDR quantity isQuantity semver isSemver', walkFirst),
  ip: (call) => (call.target ? ONE : walkFirst(call)),
  'ip.isCanonical': ({ args: [text] }) => text && { cost: traversal(sizeOf(text), 2) },
  containsIP: (call) => withParsing(call, COMPARE_ADDRESSES),
  containsCIDR: (call) => withParsing(call, COMPARE_ADDRESSES + traversal(ADDRESS) + 1),
  validate: ({ args: [text] }) => text && { cost: scaled(traversal(sizeOf(text)), MAX_NAME_PATTERN / 4) },
  format: ({ target }) => target && { cost: traversal(sizeOf(target)) },
  string: (call) => (takes(call, 'bytes') ? walkFirstKept(call) : undefined),
  bytes: ({ args: [text], overloads }) =>
    text && overloads.some(({ params }) => params[0]?.kind === 'string')
      ? { cost: traversal(sizeOf(text)), size: times(sizeOf(text), 4) }
      : undefined,
  'strings.quote': ({ args: [text] }) =>
    text && { cost: traversal(sizeOf(text)), size: plus(times(sizeOf(text), 2), 2) },
  ...same('startsWith endsWith', walkFirst),
  '@in': (call) => (takes(call, 'list') ? { cost: sizeOf(call.args[1]!) } : undefined),
  matches: ({ target, args: [pattern] }) => target && pattern && { cost: regexCost(sizeOf(target), sizeOf(pattern)) },
  contains: ({ target, args: [part] }) =>
    target && part && { cost: times(traversal(sizeOf(target)), traversal(sizeOf(part))) },
  '_+_': add,
  ...same('_<_ _<=_ _>_ _>=_', compare),
  ...same('_==_ _!=_', equal),
  ...same('sets.contains sets.intersects', sets(1)),
  'sets.equivalent': sets(2),
  slice: ({ target, literal }) =>
    target && madeList(1, Math.max(0, (literal(1) ?? sizeOf(target)) - (literal(0) ?? 0))),
  flatten: ({ target, args, literal }) =>
    target && madeList(args.length === 0 ? 1 : (literal(0) ?? UNKNOWN), sizeOf(target)),
  'lists.range': ({ literal }) => madeList(1, literal(0) ?? UNKNOWN),
  reverse: ({ target, elementKind }) => target && (elementKind === undefined ? ONE : madeList(1, sizeOf(target))),
  distinct: ({ target }) => target && madeList(2, times(sizeOf(target), sizeOf(target))),
  sort: ({ target, elementKind }) => target && sortCost(sizeOf(target), elementKind),
}

export function callCost(call: CostedCall): CallCost {
  return (Object.hasOwn(COSTS, call.name) && COSTS[call.name]!(call)) || ONE
}
