import type { Comprehension } from './expression.ts'
import type { Frame, Step, StepMaker } from './frame.ts'
import { CelBudgetError, CelError, type CelMap, type CelValue, compare, noOverload, Optional } from './values.ts'

interface Loop {
  /** Calls `body` for every element until it returns false. */
  each(frame: Frame, body: (element: CelValue, key: CelValue) => boolean): void
  readonly first: Step
  readonly last: Step
  readonly hasCondition: boolean
}

type Macro = (loop: Loop) => Step

/** Makes a macro such as `list.all(x, ...)` ready to run. */
export function comprehend(node: Comprehension, preparation: StepMaker, names: readonly string[]): Step {
  const range = preparation.step(node.range, names)
  const inside = [...names, ...node.variables]
  const bodies = node.bodies.map((body) => preparation.step(body, inside))
  const place = names.length
  if (node.macro === 'optMap' || node.macro === 'optFlatMap') return optional(range, bodies[0]!, place, node.macro)
  const hasTwo = node.variables.length === 2
  const each: Loop['each'] = (frame, body) => {
    const visit = (element: CelValue, key: CelValue) => {
      frame.budget.spend(1)
      frame.values[place] = hasTwo ? key : element
      if (hasTwo) frame.values[place + 1] = element
      return body(element, key)
    }
    const value = range(frame)
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) if (!visit(value[i] as CelValue, BigInt(i))) return
    } else if (value instanceof Map) {
      // With one variable a map is walked by its keys.
      for (const [key, element] of value) if (!visit(hasTwo ? element : key, key)) return
    } else throw noOverload()
  }
  const macro = MACROS[node.macro]!
  return macro({ each, first: bodies[0]!, last: bodies.at(-1)!, hasCondition: bodies.length === 2 })
}

function optional(range: Step, body: Step, place: number, macro: string): Step {
  return (frame) => {
    const value = range(frame)
    if (!(value instanceof Optional)) throw noOverload()
    if (value.value === undefined) return Optional.NONE
    frame.values[place] = value.value
    const result = body(frame)
    return macro === 'optMap' ? new Optional(result) : result
  }
}

/** Stops at the value that decides; an element that fails counts only if none decides. */
const quantifier =
  (decisive: boolean): Macro =>
  ({ each, last }) =>
  (frame) => {
    let failure: unknown
    let isDecided = false
    each(frame, () => {
      try {
        const value = last(frame)
        if (typeof value !== 'boolean') throw noOverload()
        isDecided = value === decisive
      } catch (error) {
        if (error instanceof CelBudgetError) throw error
        failure ??= error
      }
      return !isDecided
    })
    if (isDecided) return decisive
    if (failure !== undefined) throw failure
    return !decisive
  }

const existsOne: Macro =
  ({ each, last }) =>
  (frame) => {
    let count = 0
    each(frame, () => {
      if (isTrue(last(frame))) count++
      return true
    })
    return count === 1
  }

function isTrue(value: CelValue): boolean {
  if (typeof value !== 'boolean') throw noOverload()
  return value
}

const filter: Macro =
  ({ each, last }) =>
  (frame) => {
    const kept: CelValue[] = []
    each(frame, (element) => {
      if (isTrue(last(frame))) kept.push(element)
      return true
    })
    return kept
  }

const map: Macro =
  ({ each, first, last, hasCondition }) =>
  (frame) => {
    const made: CelValue[] = []
    each(frame, () => {
      if (!hasCondition || isTrue(first(frame))) made.push(last(frame))
      return true
    })
    return made
  }

const transformMap: Macro =
  ({ each, first, last, hasCondition }) =>
  (frame) => {
    const made: CelMap = new Map()
    each(frame, (_, key) => {
      if (!hasCondition || isTrue(first(frame))) made.set(key, last(frame))
      return true
    })
    return made
  }

/** Each element gives entries of its own; no two may have the same key. */
const transformMapEntry: Macro =
  ({ each, first, last, hasCondition }) =>
  (frame) => {
    const made: CelMap = new Map()
    each(frame, () => {
      if (hasCondition && !isTrue(first(frame))) return true
      const entries = last(frame)
      if (!(entries instanceof Map)) throw noOverload()
      for (const [key, value] of entries) {
        frame.budget.spend(1)
        if (made.has(key)) throw new CelError(`insert failed: key ${String(key)} already exists`)
        made.set(key, value)
      }
      return true
    })
    return made
  }

const sortBy: Macro =
  ({ each, last }) =>
  (frame) => {
    const keyed: { key: CelValue; element: CelValue }[] = []
    each(frame, (element) => keyed.push({ element, key: last(frame) }) > 0)
    return keyed.sort((a, b) => compare(a.key, b.key)).map(({ element }) => element)
  }

const MACROS: Readonly<Record<string, Macro>> = {
  all: quantifier(false),
  exists: quantifier(true),
  exists_one: existsOne,
  existsOne,
  filter,
  map,
  transformList: map,
  transformMap,
  transformMapEntry,
  sortBy,
}
