import type { Call, Comprehension, Expression } from './expression.ts'
import { CelSyntaxError, type Token, tokenize } from './lexer.ts'
import { Uint } from './values.ts'

/** Deeper than any sensible rule, and shallow enough for the stack. */
const MAX_DEPTH = 250
const MAX_LENGTH = 100_000

/** Reads an expression. Throws `CelSyntaxError`. */
export function parse(text: string): Expression {
  if (text.length > MAX_LENGTH) throw new CelSyntaxError('expression is too long', 0)
  return new Parser(tokenize(text)).parse()
}

const RELATIONS = new Set(['<', '<=', '>', '>=', '==', '!='])
const RESERVED = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
)
const ARITY: Readonly<Record<string, readonly number[]>> = {
  all: [2, 3],
  exists: [2, 3],
  exists_one: [2],
  existsOne: [2, 3],
  filter: [2],
  map: [2, 3],
  sortBy: [2],
  optMap: [2],
  optFlatMap: [2],
  transformList: [3, 4],
  transformMap: [3, 4],
  transformMapEntry: [3, 4],
}
/** Macros whose first two arguments are variables when they have this many. */
const TWO_VARIABLES: Readonly<Record<string, readonly number[]>> = {
  all: [3],
  exists: [3],
  existsOne: [3],
  transformList: [3, 4],
  transformMap: [3, 4],
  transformMapEntry: [3, 4],
}

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  parse(): Expression {
    const expression = this.#expression()
    if (this.#peek.type !== 'end') throw this.#unexpected()
    return expression
  }

  get #peek(): Token {
    return this.#tokens[this.#at]!
  }

  #unexpected(): CelSyntaxError {
    const { type, text, position } = this.#peek
    const what = type === 'end' ? "mismatched input '<EOF>'" : `extraneous input '${text}'`
    return new CelSyntaxError(`Syntax error: ${what}`, position)
  }

  #is(operator: string): boolean {
    return this.#peek.type === 'operator' && this.#peek.text === operator
  }

  #take(operator: string): boolean {
    if (!this.#is(operator)) return false
    this.#at++
    return true
  }

  #expect(operator: string): void {
    if (!this.#take(operator)) throw this.#unexpected()
  }

  #expression(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new CelSyntaxError('expression recursion limit exceeded', this.#peek.position)
    const condition = this.#or()
    let result = condition
    const { position } = this.#peek
    if (this.#take('?')) {
      const yes = this.#or()
      this.#expect(':')
      const no = this.#expression()
      result = call('_?_:_', position, [condition, yes, no])
    }
    this.#depth--
    return result
  }

  #or(): Expression {
    return this.#chain(new Set(['||']), () => this.#chain(new Set(['&&']), () => this.#relation()))
  }

  #relation(): Expression {
    let left = this.#sum()
    for (;;) {
      const { text, position, type } = this.#peek
      const isIn = type === 'identifier' && text === 'in'
      if (!isIn && !(type === 'operator' && RELATIONS.has(text))) return left
      this.#at++
      left = call(isIn ? '@in' : `_${text}_`, position, [left, this.#sum()])
    }
  }

  #sum(): Expression {
    return this.#chain(new Set(['+', '-']), () => this.#chain(new Set(['*', '/', '%']), () => this.#unary()))
  }

  #chain(operators: ReadonlySet<string>, next: () => Expression): Expression {
    let left = next()
    while (this.#peek.type === 'operator' && operators.has(this.#peek.text)) {
      const { text, position } = this.#peek
      this.#at++
      left = call(`_${text}_`, position, [left, next()])
    }
    return left
  }

  #unary(): Expression {
    const { position } = this.#peek
    if (this.#is('!') || this.#is('-')) {
      const operator = this.#peek.text
      this.#at++
      if (++this.#depth > MAX_DEPTH) throw new CelSyntaxError('expression recursion limit exceeded', position)
      const next = this.#peek
      if (operator === '-' && (next.type === 'int' || next.type === 'double')) {
        this.#depth--
        this.#at++
        return this.#member(number(`-${next.text}`, next.type, position))
      }
      const operand = this.#unary()
      this.#depth--
      return call(`${operator}_`, position, [operand])
    }
    return this.#member(this.#primary())
  }

  #member(start: Expression): Expression {
    let expression = start
    for (;;) {
      const { position } = this.#peek
      if (this.#take('.')) expression = this.#dot(expression, position)
      else if (this.#take('[')) {
        const isOptional = this.#take('?')
        const index = this.#expression()
        this.#expect(']')
        expression = call(isOptional ? '_[?_]' : '_[_]', position, [expression, index])
      } else if (this.#is('{') && dottedName(expression) !== undefined) {
        expression = this.#object(dottedName(expression)!, expression.position)
      } else return expression
    }
  }

  #dot(operand: Expression, position: number): Expression {
    const isOptional = this.#take('?')
    const field = this.#name()
    if (!isOptional && this.#take('(')) return this.#method(operand, field, position)
    return { type: 'select', operand, field, mode: isOptional ? 'optional' : 'value', position }
  }

  #method(target: Expression, name: string, position: number): Expression {
    const args = this.#arguments()
    if (ARITY[name]?.includes(args.length) && args[0]?.type === 'identifier')
      return comprehension(name, target, args, position)
    return { type: 'call', name, target, args, position }
  }

  #arguments(): Expression[] {
    const args: Expression[] = []
    while (!this.#is(')')) {
      args.push(this.#expression())
      if (!this.#take(',')) break
    }
    this.#expect(')')
    return args
  }

  #name(): string {
    const { type, text } = this.#peek
    if (type !== 'identifier') throw this.#unexpected()
    this.#at++
    return text
  }

  #primary(): Expression {
    const token = this.#peek
    const { position } = token
    if (this.#take('(')) {
      const inner = this.#expression()
      this.#expect(')')
      return inner
    }
    if (this.#take('[')) return this.#list(position)
    if (this.#take('{')) return this.#map(position)
    if (this.#take('.')) return this.#identifier(position)
    this.#at++
    switch (token.type) {
      case 'int':
      case 'uint':
      case 'double':
        return number(token.text, token.type, position)
      case 'string':
      case 'bytes':
        return { type: 'literal', value: token.value!, position }
      case 'identifier':
        this.#at--
        return this.#identifier(position)
      default:
        this.#at--
        throw this.#unexpected()
    }
  }

  #identifier(position: number): Expression {
    const name = this.#name()
    if (name === 'true' || name === 'false') return { type: 'literal', value: name === 'true', position }
    if (name === 'null') return { type: 'literal', value: null, position }
    if (RESERVED.has(name)) throw new CelSyntaxError(`reserved identifier: ${name}`, position)
    if (!this.#take('(')) return { type: 'identifier', name, position }
    const args = this.#arguments()
    if (name !== 'has') return { type: 'call', name, target: undefined, args, position }
    const [tested] = args
    if (tested?.type !== 'select' || args.length !== 1)
      throw new CelSyntaxError('invalid argument to has() macro', position)
    return { ...tested, mode: 'has', position }
  }

  #list(position: number): Expression {
    const items: { value: Expression; isOptional: boolean }[] = []
    while (!this.#is(']')) {
      const isOptional = this.#take('?')
      items.push({ value: this.#expression(), isOptional })
      if (!this.#take(',')) break
    }
    this.#expect(']')
    return { type: 'list', items, position }
  }

  #map(position: number): Expression {
    const entries: { key: Expression; value: Expression; isOptional: boolean }[] = []
    while (!this.#is('}')) {
      const isOptional = this.#take('?')
      const key = this.#expression()
      this.#expect(':')
      entries.push({ key, value: this.#expression(), isOptional })
      if (!this.#take(',')) break
    }
    this.#expect('}')
    return { type: 'map', entries, position }
  }

  #object(name: string, position: number): Expression {
    this.#expect('{')
    const fields: { name: string; value: Expression; isOptional: boolean }[] = []
    while (!this.#is('}')) {
      const isOptional = this.#take('?')
      const field = this.#name()
      this.#expect(':')
      fields.push({ name: field, value: this.#expression(), isOptional })
      if (!this.#take(',')) break
    }
    this.#expect('}')
    return { type: 'object', name, fields, position }
  }
}

const call = (name: string, position: number, args: readonly Expression[]): Call => ({
  type: 'call',
  name,
  target: undefined,
  args,
  position,
})

function comprehension(macro: string, range: Expression, args: readonly Expression[], position: number): Comprehension {
  const count = TWO_VARIABLES[macro]?.includes(args.length) ? 2 : 1
  const variables = args.slice(0, count).map((variable) => {
    if (variable.type !== 'identifier') throw new CelSyntaxError('argument must be a simple name', variable.position)
    return variable.name
  })
  return { type: 'comprehension', macro, range, variables, bodies: args.slice(count), position }
}

/** `a.b.c` of nothing but names. */
export function dottedName(expression: Expression): string | undefined {
  if (expression.type === 'identifier') return expression.name
  if (expression.type !== 'select' || expression.mode !== 'value') return undefined
  const before = dottedName(expression.operand)
  return before === undefined ? undefined : `${before}.${expression.field}`
}

function number(text: string, type: 'int' | 'uint' | 'double', position: number): Expression {
  if (type === 'double') return { type: 'literal', value: Number(text), position }
  const negative = text.startsWith('-')
  const magnitude = BigInt(text.replace(/^-/, '').replace(/u$/i, ''))
  const value = negative ? -magnitude : magnitude
  const isValid = type === 'uint' ? BigInt.asUintN(64, value) === value : BigInt.asIntN(64, value) === value
  if (!isValid) throw new CelSyntaxError(`invalid ${type} literal`, position)
  return { type: 'literal', value: type === 'uint' ? new Uint(value) : value, position }
}
