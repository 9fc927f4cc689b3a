import type { Call, Comprehension, Expression, Select } from './expression.ts'
import type { CelProblem } from './lexer.ts'
import type { Library, Overload } from './library.ts'
import { dottedName } from './parser.ts'
import {
  type Bindings,
  BOOL,
  type CelType,
  DYN,
  ERROR,
  formatType,
  INT,
  isAssignable,
  isDyn,
  joined,
  listOf,
  mapOf,
  optionalOf,
  resolve,
  STRING,
  typeOf,
} from './types.ts'
import { kindOf, type TypeValue } from './values.ts'

export interface CheckEnvironment {
  readonly variables: ReadonlyMap<string, CelType>
  /** Types that can be built as `Name{field: value}`. */
  readonly objects?: (name: string) => CelType | undefined
  readonly library: Library
}

export interface CheckResult {
  readonly type: CelType
  readonly problems: readonly CelProblem[]
  /** Declared variables that the expression reads. */
  readonly uses: ReadonlySet<string>
  readonly types: ReadonlyMap<Expression, CelType>
  /** What each call means. */
  readonly calls: ReadonlyMap<Call, ResolvedCall>
}

export interface ResolvedCall {
  /** With its namespace, if it has one. */
  readonly name: string
  readonly isMethod: boolean
  /** Those that fit the types; several where types are known only when it runs. */
  readonly overloads: readonly Overload[]
}

export const TYPE_NAMES = new Set([
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'list',
  'map',
  'null_type',
  'type',
])

/** Finds out the type of an expression and everything that cannot work. */
export function check(expression: Expression, environment: CheckEnvironment): CheckResult {
  const checker = new Checker(environment)
  const type = checker.type(expression)
  const { problems, uses, types, calls } = checker
  return { type, problems, uses, types, calls }
}

class Checker {
  readonly problems: CelProblem[] = []
  readonly uses = new Set<string>()
  readonly types = new Map<Expression, CelType>()
  readonly calls = new Map<Call, ResolvedCall>()
  readonly #environment: CheckEnvironment
  readonly #locals: { name: string; type: CelType }[] = []

  constructor(environment: CheckEnvironment) {
    this.#environment = environment
  }

  type(node: Expression): CelType {
    const type = this.#typeOf(node)
    this.types.set(node, type)
    return type
  }

  #typeOf(node: Expression): CelType {
    switch (node.type) {
      case 'literal':
        return literalType(node.value)
      case 'identifier':
        return this.#identifier(node.name, node.position)
      case 'select':
        return this.#select(node)
      case 'call':
        return this.#call(node)
      case 'comprehension':
        return this.#comprehension(node)
      case 'list': {
        const items = node.items.map(({ value, isOptional }) => this.#element(value, isOptional))
        return listOf(items.length === 0 ? DYN : items.reduce(joined))
      }
      case 'map': {
        const keys = node.entries.map(({ key }) => this.type(key))
        const values = node.entries.map(({ value, isOptional }) => this.#element(value, isOptional))
        return keys.length === 0 ? mapOf(DYN, DYN) : mapOf(keys.reduce(joined), values.reduce(joined))
      }
      case 'object':
        return this.#object(node)
    }
  }

  #fail(position: number, message: string): CelType {
    this.problems.push({ position, message })
    return ERROR
  }

  #element(value: Expression, isOptional: boolean): CelType {
    const type = this.type(value)
    if (!isOptional || isDyn(type)) return type
    if (type.kind === 'optional') return type.params[0]!
    return this.#fail(value.position, `expected type 'optional_type' but found '${formatType(type)}'`)
  }

  #identifier(name: string, position: number): CelType {
    const local = this.#locals.findLast((one) => one.name === name)
    if (local) return local.type
    const declared = this.#environment.variables.get(name)
    if (declared) {
      this.uses.add(name)
      return declared
    }
    if (TYPE_NAMES.has(name)) return typeOf(DYN)
    return this.#fail(position, `undeclared reference to '${name}' (in container '')`)
  }

  #select(node: Select): CelType {
    const operand = this.type(node.operand)
    const isOptional = operand.kind === 'optional' || node.mode === 'optional'
    const field = this.#field(operand.kind === 'optional' ? operand.params[0]! : operand, node)
    if (node.mode === 'has') return BOOL
    return isOptional && field !== ERROR ? optionalOf(field) : field
  }

  #field(operand: CelType, node: Select): CelType {
    if (isDyn(operand)) return operand
    if (operand.kind === 'map') return operand.params[1]!
    if (!operand.field)
      return this.#fail(node.position, `type '${formatType(operand)}' does not support field selection`)
    return operand.field(node.field) ?? this.#fail(node.position, `undefined field '${node.field}'`)
  }

  #call(node: Call): CelType {
    if (node.name === '_?_:_') return this.#conditional(node)
    const found = this.#overloadsOf(node)
    const args = (found.isMethod && node.target ? [node.target, ...node.args] : node.args).map((arg) => this.type(arg))
    if (found.overloads === undefined)
      return this.#fail(node.position, `undeclared reference to '${found.name}' (in container '')`)
    if (args.some((arg) => arg === ERROR)) return ERROR
    const fitting = matching(found.overloads, args)
    const results = fitting.map(({ result }) => result)
    this.calls.set(node, { ...found, overloads: fitting.map(({ overload }) => overload) })
    if (results.length === 0) {
      const shown = args.map(formatType)
      const applied = found.isMethod ? `${shown[0]}.(${shown.slice(1).join(', ')})` : `(${shown.join(', ')})`
      return this.#fail(node.position, `found no matching overload for '${found.name}' applied to '${applied}'`)
    }
    return results.every((type) => formatType(type) === formatType(results[0]!)) ? results[0]! : DYN
  }

  /** `optional.of(x)` looks like a method of a variable, but is a function with a dot in its name. */
  #overloadsOf(node: Call): { name: string; isMethod: boolean; overloads: readonly Overload[] | undefined } {
    const { library, variables } = this.#environment
    const prefix = node.target && dottedName(node.target)
    if (prefix !== undefined && !variables.has(prefix) && !this.#locals.some(({ name }) => name === prefix)) {
      const overloads = library.find(`${prefix}.${node.name}`, false)
      if (overloads) return { name: `${prefix}.${node.name}`, isMethod: false, overloads }
    }
    const isMethod = node.target !== undefined
    return { name: node.name, isMethod, overloads: library.find(node.name, isMethod) }
  }

  #conditional({ args }: Call): CelType {
    const [condition, yes, no] = args.map((arg) => this.type(arg))
    this.#expect(BOOL, condition!, args[0]!)
    return joined(yes!, no!)
  }

  #expect(wanted: CelType, found: CelType, node: Expression): void {
    if (!isAssignable(wanted, found, new Map()))
      this.#fail(node.position, `expected type '${formatType(wanted)}' but found '${formatType(found)}'`)
  }

  #comprehension(node: Comprehension): CelType {
    const range = this.type(node.range)
    const before = this.#locals.length
    const variables = this.#variableTypes(range, node)
    node.variables.forEach((name, i) => {
      this.#locals.push({ name, type: variables[i]! })
    })
    const bodies = node.bodies.map((body) => this.type(body))
    this.#locals.length = before
    const last = bodies.at(-1)!
    if (CONDITIONS.has(node.macro)) this.#expect(BOOL, last, node.bodies.at(-1)!)
    else if (bodies.length === 2) this.#expect(BOOL, bodies[0]!, node.bodies[0]!)
    switch (node.macro) {
      case 'filter':
      case 'sortBy':
        return range.kind === 'map' ? listOf(range.params[0]!) : range
      case 'map':
      case 'transformList':
        return listOf(last)
      case 'transformMap':
        return mapOf(range.kind === 'map' ? range.params[0]! : INT, last)
      case 'transformMapEntry':
        this.#expect(mapOf(DYN, DYN), last, node.bodies.at(-1)!)
        return last
      case 'optMap':
        return optionalOf(last)
      case 'optFlatMap':
        return last
      default:
        return BOOL
    }
  }

  #variableTypes(range: CelType, node: Comprehension): CelType[] {
    if (isDyn(range)) return [DYN, DYN]
    const isOptional = node.macro === 'optMap' || node.macro === 'optFlatMap'
    if (isOptional && range.kind === 'optional') return [range.params[0]!]
    if (!isOptional && range.kind === 'list')
      return node.variables.length === 2 ? [INT, range.params[0]!] : [range.params[0]!]
    if (!isOptional && range.kind === 'map') return [...range.params]
    this.#fail(
      node.range.position,
      `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    )
    return [ERROR, ERROR]
  }

  #object(node: Extract<Expression, { type: 'object' }>): CelType {
    const type = this.#environment.objects?.(node.name)
    if (!type) {
      for (const { value } of node.fields) this.type(value)
      return this.#fail(node.position, `undeclared reference to '${node.name}' (in container '')`)
    }
    for (const { name, value, isOptional } of node.fields) {
      const found = this.#element(value, isOptional)
      const wanted = type.field?.(name)
      if (!wanted) this.#fail(value.position, `undefined field '${name}'`)
      else if (!isAssignable(wanted, found, new Map()))
        this.#fail(
          value.position,
          `expected type of field '${name}' is '${formatType(wanted)}' but provided type is '${formatType(found)}'`,
        )
    }
    return type
  }
}

const CONDITIONS = new Set(['all', 'exists', 'exists_one', 'existsOne', 'filter'])

function matching(
  overloads: readonly Overload[],
  args: readonly CelType[],
): { readonly overload: Overload; readonly result: CelType }[] {
  const fitting: { overload: Overload; result: CelType }[] = []
  for (const overload of overloads) {
    const { params, result } = overload
    const bindings: Bindings = new Map()
    if (params.length === args.length && params.every((param, i) => isAssignable(param, args[i]!, bindings)))
      fitting.push({ overload, result: resolve(result, bindings) })
  }
  return fitting
}

function literalType(value: Extract<Expression, { type: 'literal' }>['value']): CelType {
  const kind = kindOf(value)
  if (kind === 'string') return STRING
  return kind === 'type' ? typeOf((value as TypeValue).type) : { kind, params: [] }
}
