import type { CelType } from './types.ts'
import { CelBudgetError, type CelValue } from './values.ts'

/** Steps that may be taken for each unit. */
const STEPS_PER_UNIT = 10

/**
 * What an evaluation may still cost, in the units of Kubernetes. Some of what they take for nothing is work here, so
 * steps are counted beside them: nothing honest comes near their limit.
 */
export class Budget {
  left: number
  #steps: number

  constructor(units: number) {
    this.left = units
    this.#steps = units * STEPS_PER_UNIT
  }

  spend(units: number): void {
    this.left -= units
    if (this.left < 0) throw exceeded()
  }

  /** Before the work is done. */
  work(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw exceeded()
  }
}

const exceeded = () => new CelBudgetError('operation cancelled: actual cost limit exceeded')

/** One meaning of a function for certain types. A method's receiver is its first parameter. */
export interface Overload {
  readonly params: readonly CelType[]
  readonly result: CelType
  /** A throw of `CelError` makes the expression fail. */
  run(args: readonly CelValue[], budget: Budget): CelValue
}

type Run = (...args: never[]) => CelValue

/** Functions by name, each with its signature: `string.indexOf(string, int): int`, `sets.contains(list<T>, list<T>): bool`. */
export type Functions = Readonly<Record<string, Run>>

/** All functions that expressions can call. */
export class Library {
  readonly #overloads = new Map<string, Overload[]>()

  constructor(parts: readonly Functions[]) {
    for (const part of parts) for (const [signature, run] of Object.entries(part)) this.#add(signature, run)
  }

  find(name: string, isMethod: boolean): readonly Overload[] | undefined {
    return this.#overloads.get(isMethod ? `.${name}` : name)
  }

  #add(signature: string, run: Run): void {
    const [, head = '', params = '', result = ''] = /^(.*?)\((.*)\): ?(.*)$/.exec(signature)!
    const dot = head.lastIndexOf('.')
    // `net.IP.family` is a method of an address, `ip.isCanonical` a function with a dot in its name.
    const receiver = dot > 0 ? readType(head.slice(0, dot)) : undefined
    const isMethod = receiver !== undefined && !NAMESPACES.has(head.slice(0, dot))
    const types = params === '' ? [] : splitTypes(params).map(readType)
    const overload: Overload = {
      params: isMethod ? [receiver, ...types] : types,
      result: readType(result),
      run: (args, budget) => (run as (...all: unknown[]) => CelValue)(...args, budget),
    }
    const key = isMethod ? `.${head.slice(dot + 1)}` : head
    const known = this.#overloads.get(key)
    if (known) known.push(overload)
    else this.#overloads.set(key, [overload])
  }
}

const NAMESPACES = new Set([
  'ip',
  'optional',
  'sets',
  'strings',
  'lists',
  'base64',
  'format',
  'math',
  'cidr',
  'jsonpatch',
])

const types = new Map<string, CelType>()

/** `map<string, list<A>>` */
function readType(text: string): CelType {
  const known = types.get(text)
  if (known) return known
  const [, kind = text, inside] = /^([\w.]+)<(.*)>$/.exec(text) ?? []
  const type = { kind, params: inside === undefined ? [] : splitTypes(inside).map(readType) }
  types.set(text, type)
  return type
}

/** At commas that stand in no brackets. */
function splitTypes(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '<') depth++
    else if (text[i] === '>') depth--
    else if (text[i] === ',' && depth === 0) {
      parts.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  parts.push(text.slice(start).trim())
  return parts
}
