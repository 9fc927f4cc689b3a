import { badRequest } from './api-error.ts'
import { type LabelOperator, type Requirement, requirement, validateRequirement } from './label-requirement.ts'
import { EVERYTHING, type Selector, selectorOf } from './label-selector.ts'

/** Selectors as users type them: `app=web,tier!=db,env in (a,b),!canary,size>3`. Throws a BadRequest `ApiError`. */
export function parseLabelSelector(text: string): Selector {
  if (text === '') return EVERYTHING
  return selectorOf(new Parser(tokens(text)).requirements())
}

/** Each is asked of every object: more are only sent to keep the server busy. */
const MAX_REQUIREMENTS = 1000

type Token = { readonly type: 'identifier' | 'end' | Punctuation; readonly text: string }
type Punctuation = ')' | '(' | ',' | '!' | '=' | '==' | '!=' | '>' | '<' | 'in' | 'notin'

const SYMBOLS = new Set<string>([')', '(', ',', '!', '=', '==', '!=', '>', '<'])
const SPECIAL = '=!(),><'
const SPACE = ' \t\r\n'

function tokens(text: string): Token[] {
  const found: Token[] = []
  let at = 0
  while (at < text.length) {
    const char = text[at]!
    if (SPACE.includes(char)) at++
    else if (SPECIAL.includes(char)) {
      const two = text.slice(at, at + 2)
      const symbol = SYMBOLS.has(two) ? two : char
      found.push({ type: symbol as Punctuation, text: symbol })
      at += symbol.length
    } else {
      const start = at
      while (at < text.length && !SPECIAL.includes(text[at]!) && !SPACE.includes(text[at]!)) at++
      const word = text.slice(start, at)
      found.push({ type: word === 'in' || word === 'notin' ? word : 'identifier', text: word })
    }
  }
  found.push({ type: 'end', text: '' })
  return found
}

const OPERATORS: Readonly<Partial<Record<Token['type'], LabelOperator>>> = {
  in: 'in',
  notin: 'notin',
  '=': '=',
  '==': '==',
  '!=': '!=',
  '>': 'gt',
  '<': 'lt',
}

class Parser {
  readonly #tokens: Token[]
  #at = 0

  constructor(tokens: Token[]) {
    this.#tokens = tokens
  }

  requirements(): Requirement[] {
    const list: Requirement[] = []
    while (this.#peek().type !== 'end') {
      const { type, text } = this.#peek()
      if (type !== 'identifier' && type !== '!') throw unexpected(text, "!, identifier, or 'end of string'")
      list.push(this.#requirement())
      if (list.length > MAX_REQUIREMENTS)
        throw badRequest(`a label selector may have at most ${MAX_REQUIREMENTS} requirements`)
      const separator = this.#next()
      if (separator.type === 'end') break
      if (separator.type !== ',') throw unexpected(separator.text, "',' or 'end of string'")
      const after = this.#peek()
      if (after.type !== 'identifier' && after.type !== '!') throw unexpected(after.text, "identifier after ','")
    }
    return list
  }

  #requirement(): Requirement {
    const absent = this.#peek().type === '!'
    if (absent) this.#next()
    const key = this.#next()
    if (key.type !== 'identifier') throw unparsable(`found '${key.text}', expected: identifier`)
    const following = this.#peek().type
    if (absent) return checked(key.text, '!', [])
    if (following === 'end' || following === ',') return checked(key.text, 'exists', [])
    const operator = this.#operator()
    const values = operator === 'in' || operator === 'notin' ? this.#valueSet() : [this.#value()]
    return checked(key.text, operator, values)
  }

  #operator(): LabelOperator {
    const { type, text } = this.#next(true)
    const operator = OPERATORS[type]
    if (!operator) throw unparsable(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`)
    return operator
  }

  #value(): string {
    const { type } = this.#peek()
    if (type === 'end' || type === ',') return ''
    const value = this.#next()
    if (value.type !== 'identifier') throw unparsable(`found '${value.text}', expected: identifier`)
    return value.text
  }

  #valueSet(): string[] {
    const open = this.#next()
    if (open.type !== '(') throw unparsable(`found '${open.text}' expected: '('`)
    const first = this.#peek()
    if (first.type === ')') {
      this.#next()
      return []
    }
    if (first.type !== 'identifier' && first.type !== ',')
      throw unparsable(`found '${first.text}', expected: ',', ')' or identifier`)
    const values: string[] = []
    for (;;) {
      // A missing value between commas or before the parenthesis is the empty string.
      values.push(this.#peek().type === 'identifier' ? this.#next().text : '')
      const separator = this.#next()
      if (separator.type === ')') return values
      if (separator.type !== ',') throw unparsable(`found '${separator.text}', expected: ',' or ')'`)
    }
  }

  /** `in` and `notin` are operators only where one is expected, and plain words everywhere else. */
  #read(at: number, wantOperator: boolean): Token {
    const token = this.#tokens[Math.min(at, this.#tokens.length - 1)]!
    const isWord = token.type === 'in' || token.type === 'notin'
    return isWord && !wantOperator ? { type: 'identifier', text: token.text } : token
  }
  #peek = () => this.#read(this.#at, false)
  #next = (wantOperator = false) => this.#read(this.#at++, wantOperator)
}

function checked(key: string, operator: LabelOperator, values: string[]): Requirement {
  const errors = validateRequirement(key, operator, values)
  if (errors.length === 0) return requirement(key, operator, values)
  const lines = errors.map((error) => `${error.field}: ${error.message}`)
  throw unparsable(lines.length === 1 ? lines[0]! : `[${lines.join(', ')}]`)
}

const unexpected = (found: string, expected: string) => badRequest(`found '${found}', expected: ${expected}`)
const unparsable = (message: string) => badRequest(`unable to parse requirement: ${message}`)
