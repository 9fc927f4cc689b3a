import type { CheckResult } from '../check.ts'
import type { Call, Comprehension, Expression, Select } from '../expression.ts'
import { type EntrySize, type Estimate, type Place, plus, type Sized, sizeOf, times, UNKNOWN, union } from '../sizes.ts'
import type { CelType } from '../types.ts'
import { type CelValue, Uint } from '../values.ts'
import { type CostedCall, callCost, sortCost } from './functions.ts'

/**
 * What the most expensive run of an expression can cost, in the units of Kubernetes, so that one that is too expensive
 * is refused before it is stored.
 */
export function estimateCost(expression: Expression, checked: CheckResult, sizes: Sized): number {
  return new Estimator(checked, sizes).of(expression).cost
}

const MAKE_LIST = 10
const MAKE_MAP = 30
const MAKE_OBJECT = 40
const SCALARS = new Set(['bool', 'int', 'uint', 'double', 'duration', 'timestamp'])

class Estimator {
  readonly #checked: CheckResult
  readonly #root: Sized
  readonly #locals: { readonly name: string; readonly estimate: Estimate }[] = []

  constructor(checked: CheckResult, root: Sized) {
    this.#checked = checked
    this.#root = root
  }

  of(node: Expression): Estimate {
    switch (node.type) {
      case 'literal':
        return { cost: 0, ...literalSize(node.value) }
      case 'identifier':
        return this.#identifier(node)
      case 'select':
        return this.#select(node)
      case 'call':
        return this.#call(node)
      case 'comprehension':
        return this.#comprehension(node)
      case 'list': {
        const items = node.items.map(({ value }) => this.of(value))
        const size = { size: items.length, least: items.length }
        return { cost: plus(MAKE_LIST, ...costs(items)), ...size, entry: entryOf('list', [], items) }
      }
      case 'map': {
        const keys = node.entries.map(({ key }) => this.of(key))
        const values = node.entries.map(({ value }) => this.of(value))
        const cost = plus(MAKE_MAP, ...costs(keys), ...costs(values))
        return { cost, size: keys.length, least: keys.length, entry: entryOf('map', keys, values) }
      }
      case 'object':
        return { cost: plus(MAKE_OBJECT, ...node.fields.map(({ value }) => this.of(value).cost)) }
    }
  }

  #type(node: Expression): CelType | undefined {
    return this.#checked.types.get(node)
  }

  /** The size is what its place declares, or follows from its type. */
  #sized(node: Expression, estimate: Estimate): Estimate {
    const size = estimate.place?.declared?.max ?? (isScalar(this.#type(node)) ? 1 : estimate.size)
    return { ...estimate, size }
  }

  #identifier(node: Extract<Expression, { type: 'identifier' }>): Estimate {
    const local = this.#locals.findLast(({ name }) => name === node.name)
    if (local) return this.#sized(node, { ...local.estimate, cost: 1 })
    return this.#sized(node, { cost: 1, place: { declared: this.#root } })
  }

  #select(node: Select): Estimate {
    const operand = this.of(node.operand)
    if (node.mode === 'has') return { cost: operand.cost, size: 1 }
    if (node.mode === 'optional') return this.#sized(node, { cost: plus(operand.cost, 1) })
    const type = this.#type(node.operand)
    const isRead = type?.kind === 'map' || type?.field !== undefined
    const place = this.#below(operand.place, (declared) => declared.field?.(node.field))
    return this.#sized(node, { cost: plus(operand.cost, isRead ? 1 : 0), place })
  }

  #below(place: Place, step: (declared: Sized) => Sized | undefined): Place {
    if (!place) return { declared: this.#root }
    return { declared: place.declared && step(place.declared) }
  }

  #call(node: Call): Estimate {
    const resolved = this.#checked.calls.get(node)
    const args = node.args.map((arg) => this.of(arg))
    const [first, second, third] = args
    switch (node.name) {
      case '_&&_':
      case '_||_':
        return { cost: plus(...costs(args)), size: 1 }
      case '_?_:_': {
        const cost = plus(first!.cost, Math.max(second!.cost, third!.cost))
        return { cost, size: Math.max(sizeOf(second!), sizeOf(third!)), entry: union(second!.entry, third!.entry) }
      }
      case '_[_]':
        return this.#index(node, first!, second!)
      case 'dyn':
        return { ...first!, cost: plus(first!.cost, 1) }
    }
    const target = resolved?.isMethod && node.target ? this.of(node.target) : undefined
    const own = callCost(this.#costed(node, target, args))
    const entry = node.name === '_+_' ? union(first!.entry, second?.entry) : undefined
    const cost = plus(own.cost, ...costs(args), target?.cost ?? 0)
    return own.size === undefined ? this.#sized(node, { cost, entry }) : { cost, size: own.size, entry }
  }

  #costed(node: Call, target: Estimate | undefined, args: readonly Estimate[]): CostedCall {
    const resolved = this.#checked.calls.get(node)
    const list = target && this.#type(node.target!)
    return {
      name: resolved?.name ?? node.name,
      target,
      args,
      kinds: node.args.map((arg) => this.#type(arg)?.kind ?? 'dyn'),
      overloads: resolved?.overloads ?? [],
      elementKind: list?.params[0]?.kind,
      elements: target?.place?.declared?.items,
      literal(at) {
        const arg = node.args[at]
        return arg?.type === 'literal' && typeof arg.value === 'bigint' ? Number(arg.value) : undefined
      },
    }
  }

  #index(node: Call, operand: Estimate, key: Estimate): Estimate {
    const place = this.#below(operand.place, ({ items }) => items)
    const cost = plus(operand.cost, key.cost, 1)
    if (operand.entry) return { cost, size: operand.entry.value, place }
    return this.#sized(node, { cost, place })
  }

  #comprehension(node: Comprehension): Estimate {
    const range = this.of(node.range)
    const before = this.#locals.length
    this.#locals.push(...this.#variables(node, range))
    const bodies = node.bodies.map((body) => this.of(body))
    this.#locals.length = before
    const count = sizeOf(range)
    const last = bodies.at(-1)!
    switch (node.macro) {
      case 'optMap':
      case 'optFlatMap': {
        const wrap = node.macro === 'optMap' ? 1 : 0
        return { cost: plus(range.cost, 1, wrap, MAKE_LIST, 1, range.cost, last.cost) }
      }
      case 'sortBy': {
        const keys = plus(1 + MAKE_LIST + 1, times(count, plus(last.cost, 2 + MAKE_LIST)))
        const sort = sortCost(count, this.#type(node.bodies[0]!)?.kind)
        return { cost: plus(MAKE_LIST, range.cost, keys, 1, sort.cost), size: count, entry: range.entry }
      }
    }
    const { begin, step, end } = LOOPS[node.macro]!
    const cost = plus(range.cost, begin, end, times(count, plus(step, ...costs(bodies))))
    if (begin === 0) return { cost, size: 1 }
    const element = node.macro === 'filter' ? (this.#elementOf(node, range) ?? UNKNOWN) : sizeOf(last)
    return begin === MAKE_LIST
      ? { cost, size: count, entry: { container: 'list', key: 1, value: element } }
      : { cost, size: count }
  }

  #elementOf(node: Comprehension, range: Estimate): number | undefined {
    const variable = this.#variables(node, range)[0]!.estimate
    return variable.place?.declared?.max ?? variable.size
  }

  /** The variables of a loop: keys, items, values. */
  #variables({ variables, macro, range: node }: Comprehension, range: Estimate) {
    if (macro === 'optMap' || macro === 'optFlatMap') return [{ name: variables[0]!, estimate: { cost: 1 } }]
    const isList = (range.entry?.container ?? this.#type(node)?.kind) === 'list'
    const key: Estimate = {
      cost: 1,
      size: range.entry?.key,
      place: this.#below(range.place, ({ keys }) => (isList ? undefined : keys)),
    }
    const value: Estimate = {
      cost: 1,
      size: range.entry?.value,
      place: this.#below(range.place, ({ items }) => items),
    }
    const [first, second] = variables
    if (second === undefined) return [{ name: first!, estimate: isList ? value : key }]
    return [
      { name: first!, estimate: key },
      { name: second, estimate: value },
    ]
  }
}

/**
 * What a loop costs besides its range and bodies: at its begin, for every element, at its end. Macros stand for a
 * fold over the range, so `all` asks for each element whether to go on (2) and joins it with what was found (1).
 */
const LOOPS: Readonly<Record<string, { begin: number; step: number; end: number }>> = {
  all: { begin: 0, step: 3, end: 1 },
  exists: { begin: 0, step: 4, end: 1 },
  exists_one: { begin: 0, step: 2, end: 2 },
  existsOne: { begin: 0, step: 2, end: 2 },
  filter: { begin: MAKE_LIST, step: 3 + MAKE_LIST, end: 1 },
  map: { begin: MAKE_LIST, step: 2 + MAKE_LIST, end: 1 },
  transformList: { begin: MAKE_LIST, step: 2 + MAKE_LIST, end: 1 },
  transformMap: { begin: MAKE_MAP, step: 3, end: 1 },
  transformMapEntry: { begin: MAKE_MAP, step: 2, end: 1 },
}

const costs = (all: readonly Estimate[]) => all.map(({ cost }) => cost)

function entryOf(container: EntrySize['container'], keys: readonly Estimate[], values: readonly Estimate[]): EntrySize {
  const largest = (all: readonly Estimate[]) => Math.max(0, ...all.map(sizeOf))
  return { container, key: container === 'list' ? 1 : largest(keys), value: largest(values) }
}

function isScalar(type: CelType | undefined): boolean {
  if (type?.kind === 'optional') return isScalar(type.params[0])
  return type !== undefined && SCALARS.has(type.kind)
}

function literalSize(value: CelValue): { size?: number; least?: number } {
  if (typeof value === 'string') return exactly([...value].length)
  if (value instanceof Uint8Array) return exactly(value.length)
  const isPlain = value === null || typeof value !== 'object' || value instanceof Uint
  return isPlain ? exactly(1) : {}
}

const exactly = (size: number) => ({ size, least: size })
