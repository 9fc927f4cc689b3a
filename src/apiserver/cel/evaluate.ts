import { TYPE_NAMES } from './check.ts'
import { comprehend } from './comprehension.ts'
import type { Call, Expression, Select } from './expression.ts'
import { unescapeField } from './field-names.ts'
import type { Step, StepMaker } from './frame.ts'
import type { Library, Overload } from './library.ts'
import { dottedName } from './parser.ts'
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
    return (frame) => {
      frame.budget.spend(1)
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
        return selectStep(node, this.step(node.operand, names))
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
        )
      case 'object':
        return this.#map(
          node.fields.map(({ name, value, isOptional }) => ({
            key: keyStep(unescapeField(name)),
            value: this.step(value, names),
            isOptional,
          })),
        )
    }
  }

  #list(node: Extract<Expression, { type: 'list' }>, names: readonly string[]): Step {
    const items = node.items.map(({ value, isOptional }) => ({ run: this.step(value, names), isOptional }))
    return (frame) => {
      const list: CelValue[] = []
      for (const { run, isOptional } of items) {
        const value = run(frame)
        if (!isOptional) list.push(value)
        else if (value instanceof Optional && value.value !== undefined) list.push(value.value)
      }
      return list
    }
  }

  #map(entries: readonly { key: Step; value: Step; isOptional: boolean }[]): Step {
    return (frame) => {
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
        return (frame) => index(first!(frame), second!(frame))
      case '_[?_]':
        return (frame) => optionalIndex(first!(frame), second!(frame))
    }
    return this.#function(node, args, names)
  }

  #function(node: Call, args: readonly Step[], names: readonly string[]): Step {
    const prefix = node.target && dottedName(node.target)
    const isLocal = prefix !== undefined && names.includes(prefix)
    const spaced = prefix !== undefined && !isLocal ? this.#library.find(`${prefix}.${node.name}`, false) : undefined
    if (spaced) return dispatch(spaced, args)
    const overloads = this.#library.find(node.name, node.target !== undefined) ?? []
    return dispatch(overloads, node.target ? [this.step(node.target, names), ...args] : args)
  }
}

const keyStep =
  (name: string): Step =>
  () =>
    name

/** The first overload that takes the values as they are. */
function dispatch(overloads: readonly Overload[], steps: readonly Step[]): Step {
  const candidates = overloads.filter(({ params }) => params.length === steps.length)
  return (frame) => {
    const args = steps.map((step) => step(frame))
    for (const overload of candidates) {
      if (overload.params.every((param, i) => accepts(param.kind, args[i]!))) return overload.run(args, frame.budget)
    }
    throw noOverload()
  }
}

const accepts = (kind: string, value: CelValue) => kind.length === 1 || kind === 'dyn' || kind === kindOf(value)

const TYPE_KINDS: Readonly<Record<string, string>> = { null_type: 'null' }

function identifierStep(name: string, names: readonly string[]): Step {
  const place = names.lastIndexOf(name)
  if (place >= 0) return (frame) => frame.values[place]!
  if (!TYPE_NAMES.has(name)) throw new CelError(`undeclared reference to '${name}' (in container '')`)
  const value = new TypeValue({ kind: TYPE_KINDS[name] ?? name, params: [] })
  return () => value
}

function selectStep({ field, mode }: Select, operand: Step): Step {
  return (frame) => {
    const value = operand(frame)
    const isOptional = value instanceof Optional
    const object = isOptional ? value.value : value
    if (isOptional && object === undefined) return mode === 'has' ? false : Optional.NONE
    const read = object instanceof Map ? undefined : fieldReader(object)
    if (!(object instanceof Map) && !read) throw mode === 'has' ? noOverload() : new CelError(`no such overload`)
    const found = object instanceof Map ? object.get(field) : read!(field)
    if (mode === 'has') return found !== undefined
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
