import { sortCost } from './cost/actual.ts'
import type { Comprehension } from './expression.ts'
import type { Frame, Step, StepMaker } from './frame.ts'
import { isConstant } from './plan.ts'
import { CelBudgetError, CelError, type CelMap, type CelValue, compare, noOverload, Optional } from './values.ts'

/**
 * Macros stand for a fold over a range, and cost what that costs: reading what was gathered, asking whether to go on,
 * adding to it, and reading the result.
 */
const READ = 1
const CALL = 1
const MAKE_LIST = 10

interface Loop {
  /** Calls `body` for every element until it returns false. */
  each(frame: Frame, body: (element: CelValue, key: CelValue) => boolean): void
  readonly first: Step
  readonly last: Step
  readonly hasCondition: boolean
  /** What it costs to put a made value into a list. */
  readonly listCost: number
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
      frame.budget.work(1)
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
  const listCost = isConstant(node.bodies.at(-1)!, inside) ? 0 : MAKE_LIST
  return macro({ each, first: bodies[0]!, last: bodies.at(-1)!, hasCondition: bodies.length === 2, listCost })
}

function optional(range: Step, body: Step, place: number, macro: string): Step {
  return (frame) => {
    const { budget } = frame
    const before = budget.left
    const value = range(frame)
    if (!(value instanceof Optional)) throw noOverload()
    const reading = before - budget.left
    // Whether there is a value, and then: the other one, or the value, which is read again.
    budget.spend(CALL + CALL)
    if (value.value === undefined) return Optional.NONE
    budget.spend(reading)
    frame.values[place] = value.value
    const result = body(frame)
    if (macro !== 'optMap') return result
    budget.spend(CALL)
    return new Optional(result)
  }
}

/** Stops at the value that decides; an element that fails counts only if none decides. */
const quantifier =
  (decisive: boolean, goOnCost: number): Macro =>
  ({ each, last }) =>
  (frame) => {
    let failure: unknown
    let isDecided = false
    each(frame, () => {
      frame.budget.spend(goOnCost)
      if (isDecided) return false
      frame.budget.spend(READ)
      try {
        const value = last(frame)
        if (typeof value !== 'boolean') throw noOverload()
        isDecided = value === decisive
      } catch (error) {
        if (error instanceof CelBudgetError) throw error
        failure ??= error
      }
      return true
    })
    frame.budget.spend(READ)
    if (isDecided) return decisive
    if (failure !== undefined) throw failure
    return !decisive
  }

const existsOne: Macro =
  ({ each, last }) =>
  (frame) => {
    let count = 0
    each(frame, () => {
      const isOne = isTrue(last(frame))
      frame.budget.spend(isOne ? READ + CALL : READ)
      if (isOne) count++
      return true
    })
    frame.budget.spend(READ + CALL)
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
      const isKept = isTrue(last(frame))
      frame.budget.spend(isKept ? READ + CALL + MAKE_LIST + READ : READ)
      if (isKept) kept.push(element)
      return true
    })
    frame.budget.spend(READ)
    return kept
  }

const map: Macro =
  ({ each, first, last, hasCondition, listCost }) =>
  (frame) => {
    const made: CelValue[] = []
    each(frame, () => {
      const isMade = !hasCondition || isTrue(first(frame))
      frame.budget.spend(isMade ? READ + CALL + listCost : READ)
      if (isMade) made.push(last(frame))
      return true
    })
    frame.budget.spend(READ)
    return made
  }

const transformMap: Macro =
  ({ each, first, last, hasCondition }) =>
  (frame) => {
    const made: CelMap = new Map()
    each(frame, (_, key) => {
      const isMade = !hasCondition || isTrue(first(frame))
      frame.budget.spend(isMade ? READ + READ + CALL : READ)
      if (isMade) made.set(key, last(frame))
      return true
    })
    frame.budget.spend(READ)
    return made
  }

/** Each element gives entries of its own; no two may have the same key. */
const transformMapEntry: Macro =
  ({ each, first, last, hasCondition }) =>
  (frame) => {
    const made: CelMap = new Map()
    each(frame, () => {
      const isMade = !hasCondition || isTrue(first(frame))
      frame.budget.spend(isMade ? READ + CALL : READ)
      if (!isMade) return true
      const entries = last(frame)
      if (!(entries instanceof Map)) throw noOverload()
      for (const [key, value] of entries) {
        frame.budget.work(1)
        if (made.has(key)) throw new CelError(`insert failed: key ${String(key)} already exists`)
        made.set(key, value)
      }
      return true
    })
    frame.budget.spend(READ)
    return made
  }

/** The keys are made like those of a map, then all are compared with all. */
const sortBy: Macro =
  ({ each, last, listCost }) =>
  (frame) => {
    const keyed: { key: CelValue; element: CelValue }[] = []
    each(frame, (element) => {
      frame.budget.spend(READ + CALL + listCost)
      return keyed.push({ element, key: last(frame) }) > 0
    })
    frame.budget.spend(READ + READ + READ + sortCost(keyed.map(({ key }) => key)))
    return keyed.sort((a, b) => compare(a.key, b.key)).map(({ element }) => element)
  }

const MACROS: Readonly<Record<string, Macro>> = {
  all: quantifier(false, READ + CALL),
  exists: quantifier(true, READ + CALL + CALL),
  exists_one: existsOne,
  existsOne,
  filter,
  map,
  transformList: map,
  transformMap,
  transformMapEntry,
  sortBy,
}
