import { TYPE_NAMES } from './check.ts'
import { comprehend } from './comprehension.ts'
import { type ActualCost, actualCost } from './cost/actual.ts'
import type { Call, Expression, Select } from './expression.ts'
import { unescapeField } from './field-names.ts'
import type { Step, StepMaker } from './frame.ts'
import { Budget, type Library, type Overload } from './library.ts'
import { dottedName } from './parser.ts'
import { isAttribute, isConstant, isConstantSet } from './plan.ts'
import {
  CelBudgetError,
  CelError,
  type CelMap,
  type CelValue,
  isNumber,
  kindOf,
  mapKey,
  noOverload,
  type OpaqueValue,
  Optional,
  TypeValue,
} from './values.ts'

const MAKE_LIST = 10
const MAKE_MAP = 30
const MAKE_OBJECT = 40

/** Makes an expression ready to run. `names` are the variables in the order of their places in the frame. */
export function prepare(node: Expression, names: readonly string[], library: Library): Step {
  return new Preparation(library).step(node, names)
}

class Preparation implements StepMaker {
  readonly #library: Library

  constructor(library: Library) {
    this.#library = library
  }

  step(node: Expression, names: readonly string[]): Step {
    const inner = this.#step(node, names)
    if (isConstant(node, names)) return computed(inner)
    return (frame) => {
      frame.budget.work(1)
      return inner(frame)
    }
  }

  #step(node: Expression, names: readonly string[]): Step {
    switch (node.type) {
      case 'literal':
        return () => node.value
      case 'identifier':
        return identifierStep(node.name, names)
      case 'select':
        return selectStep(node, this.step(node.operand, names), isAttribute(node.operand, names) ? 0 : 1)
      case 'call':
        return this.#call(node, names)
      case 'comprehension':
        return comprehend(node, this, names)
      case 'list':
        return this.#list(node, names)
      case 'map':
        return this.#map(
          node.entries.map(({ key, value, isOptional }) => ({
            key: this.step(key, names),
            value: this.step(value, names),
            isOptional,
          })),
          MAKE_MAP,
        )
      case 'object':
        return this.#map(
          node.fields.map(({ name, value, isOptional }) => ({
            key: keyStep(unescapeField(name)),
            value: this.step(value, names),
            isOptional,
          })),
          MAKE_OBJECT,
        )
    }
  }

  #list(node: Extract<Expression, { type: 'list' }>, names: readonly string[]): Step {
    const items = node.items.map(({ value, isOptional }) => ({ run: this.step(value, names), isOptional }))
    return (frame) => {
      frame.budget.spend(MAKE_LIST)
      const list: CelValue[] = []
      for (const { run, isOptional } of items) {
        const value = run(frame)
        if (!isOptional) list.push(value)
        else if (value instanceof Optional && value.value !== undefined) list.push(value.value)
      }
      return list
    }
  }

  #map(entries: readonly { key: Step; value: Step; isOptional: boolean }[], cost: number): Step {
    return (frame) => {
      frame.budget.spend(cost)
      const map: CelMap = new Map()
      for (const { key, value, isOptional } of entries) {
        const name = mapKey(key(frame))
        const found = value(frame)
        if (map.has(name)) throw new CelError(`Failed with repeated key`)
        if (!isOptional) map.set(name, found)
        else if (found instanceof Optional && found.value !== undefined) map.set(name, found.value)
      }
      return map
    }
  }

  #call(node: Call, names: readonly string[]): Step {
    const args = node.args.map((arg) => this.step(arg, names))
    const [first, second, third] = args
    switch (node.name) {
      case '_&&_':
        return logic(first!, second!, false)
      case '_||_':
        return logic(first!, second!, true)
      case '_?_:_':
        return (frame) => {
          const condition = first!(frame)
          if (typeof condition !== 'boolean') throw noOverload()
          return condition ? second!(frame) : third!(frame)
        }
      case '_[_]':
      case '_[?_]':
        return this.#index(node, first!, second!, names)
    }
    return this.#function(node, args, names)
  }

  /** A key that is read from a variable costs what reading it costs, any other one more. */
  #index({ name, args }: Call, operand: Step, key: Step, names: readonly string[]): Step {
    const cost = (isAttribute(args[0]!, names) ? 0 : 1) + (isAttribute(args[1]!, names) ? 0 : 1)
    const read = name === '_[_]' ? index : optionalIndex
    return (frame) => {
      const value = operand(frame)
      const at = key(frame)
      frame.budget.spend(cost)
      return read(value, at)
    }
  }

  #function(node: Call, args: readonly Step[], names: readonly string[]): Step {
    const prefix = node.target && dottedName(node.target)
    const isLocal = prefix !== undefined && names.includes(prefix)
    const spaced = prefix !== undefined && !isLocal ? this.#library.find(`${prefix}.${node.name}`, false) : undefined
    if (spaced) return dispatch(spaced, args, actualCost(`${prefix}.${node.name}`))
    const overloads = this.#library.find(node.name, node.target !== undefined) ?? []
    const cost = node.name === '@in' && isConstantSet(node.args[1]) ? FREE : actualCost(node.name)
    return dispatch(overloads, node.target ? [this.step(node.target, names), ...args] : args, cost)
  }
}

const keyStep =
  (name: string): Step =>
  () =>
    name

const FREE: ActualCost = () => 0

/** Once, before the first run; what cannot be computed fails whenever it is asked for. */
function computed(step: Step): Step {
  try {
    const value = step({ values: [], budget: new Budget(Number.POSITIVE_INFINITY) })
    return () => value
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    return () => {
      throw error
    }
  }
}

/** The first overload that takes the values as they are. */
function dispatch(overloads: readonly Overload[], steps: readonly Step[], cost: ActualCost): Step {
  const candidates = overloads.filter(({ params }) => params.length === steps.length)
  return (frame) => {
    const args = steps.map((step) => step(frame))
    for (const overload of candidates) {
      if (!overload.params.every((param, i) => accepts(param.kind, args[i]!))) continue
      const result = overload.run(args, frame.budget)
      frame.budget.spend(cost(args, result))
      return result
    }
    throw noOverload()
  }
}

const accepts = (kind: string, value: CelValue) => kind.length === 1 || kind === 'dyn' || kind === kindOf(value)

const TYPE_KINDS: Readonly<Record<string, string>> = { null_type: 'null' }

function identifierStep(name: string, names: readonly string[]): Step {
  const place = names.lastIndexOf(name)
  if (place >= 0)
    return (frame) => {
      frame.budget.spend(1)
      return frame.values[place]!
    }
  if (!TYPE_NAMES.has(name)) throw new CelError(`undeclared reference to '${name}' (in container '')`)
  const value = new TypeValue({ kind: TYPE_KINDS[name] ?? name, params: [] })
  return () => value
}

/** Looking whether a field is there costs nothing. */
function selectStep({ field, mode }: Select, operand: Step, base: number): Step {
  return (frame) => {
    const value = operand(frame)
    frame.budget.spend(base)
    const isOptional = value instanceof Optional
    const object = isOptional ? value.value : value
    if (isOptional && object === undefined) return mode === 'has' ? false : Optional.NONE
    const read = object instanceof Map ? undefined : fieldReader(object)
    if (!(object instanceof Map) && !read) throw mode === 'has' ? noOverload() : new CelError(`no such overload`)
    const found = object instanceof Map ? object.get(field) : read!(field)
    if (mode === 'has') return found !== undefined
    if (found !== undefined) frame.budget.spend(1)
    if (isOptional || mode === 'optional') return found === undefined ? Optional.NONE : new Optional(found)
    if (found === undefined) throw new CelError(`no such key: ${field}`)
    return found
  }
}

const fieldReader = (value: CelValue | undefined) => {
  const opaque = value as OpaqueValue | null | undefined
  return typeof opaque === 'object' && opaque !== null && 'field' in opaque
    ? (name: string) => opaque.field?.(name)
    : undefined
}

/** `a && b` is false if either is, even if the other cannot be computed; `||` likewise. */
function logic(left: Step, right: Step, decisive: boolean): Step {
  return (frame) => {
    let failure: unknown
    try {
      const value = left(frame)
      if (value === decisive) return decisive
      if (typeof value !== 'boolean') failure = noOverload()
    } catch (error) {
      if (error instanceof CelBudgetError) throw error
      failure = error
    }
    const value = right(frame)
    if (value === decisive) return decisive
    if (failure !== undefined) throw failure
    if (typeof value !== 'boolean') throw noOverload()
    return value
  }
}

function index(operand: CelValue, key: CelValue): CelValue {
  if (operand instanceof Optional) return optionalIndex(operand, key)
  if (Array.isArray(operand)) {
    const at = isNumber(key) ? Number(mapKey(key)) : Number.NaN
    if (!Number.isInteger(at)) throw noOverload()
    if (at < 0 || at >= operand.length) throw new CelError(`index out of bounds: ${at}`)
    return operand[at] as CelValue
  }
  if (!(operand instanceof Map)) throw noOverload()
  const found = operand.get(mapKey(key))
  if (found === undefined) throw new CelError(`no such key: ${String(key)}`)
  return found
}

function optionalIndex(operand: CelValue, key: CelValue): CelValue {
  const value = operand instanceof Optional ? operand.value : operand
  if (value === undefined) return Optional.NONE
  try {
    return new Optional(index(value, key))
  } catch (error) {
    if (error instanceof CelError && /^(no such key|index out of)/.test(error.message)) return Optional.NONE
    throw error
  }
}
