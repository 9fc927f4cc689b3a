import { badRequest } from './api-error.ts'

/** One condition of a field selector: the field's value is, or is not, this text. */
export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

/** All must hold; none selects everything. */
export type FieldSelector = readonly FieldRequirement[]

/** Each is asked of every object: more are only sent to keep the server busy. */
const MAX_REQUIREMENTS = 1000

/**
 * Parses terms with commas between them, such as `metadata.name=x,status.phase!=Running`. A term is a field, one of the
 * operators `=`, `==` and `!=`, and a value, in which `\\`, `\,` and `\=` stand for the characters themselves. Throws a
 * BadRequest `ApiError`.
 */
export function parseFieldSelector(text: string): FieldSelector {
  const scanner = new Scanner(text)
  const selector: FieldRequirement[] = []
  while (!scanner.isAtEnd) {
    const term = scanner.term()
    if (term) selector.push(term)
    if (selector.length > MAX_REQUIREMENTS)
      throw badRequest(`a field selector may have at most ${MAX_REQUIREMENTS} requirements`)
  }
  return selector
}

/** Reads a selector once, from left to right. */
class Scanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length
  }

  /** Undefined for an empty term, which selects nothing in particular. */
  term(): FieldRequirement | undefined {
    const field = this.#field()
    const sign = this.#operator()
    if (sign) return { field, operator: sign === '!=' ? '!=' : '=', value: this.#value() }
    this.#at++ // The comma, if there is one.
    if (field !== '') throw badRequest(`invalid selector: '${this.#text}'; can't understand '${field}'`)
    return undefined
  }

  /** Up to an operator or a comma. A backslash keeps the comma after it, and stays in the name. */
  #field(): string {
    const start = this.#at
    let isKept = false
    for (; !this.isAtEnd && !this.#sign(); this.#at++) {
      const char = this.#text[this.#at]
      if (char === ',' && !isKept) break
      isKept = char === '\\' && !isKept
    }
    return this.#text.slice(start, this.#at)
  }

  #sign(): string | undefined {
    const char = this.#text[this.#at]
    if (char !== '=' && char !== '!') return undefined
    return OPERATORS.find((sign) => this.#text.startsWith(sign, this.#at))
  }

  #operator(): string | undefined {
    const sign = this.#sign()
    this.#at += sign?.length ?? 0
    return sign
  }

  /** Up to and with a comma that no backslash precedes. */
  #value(): string {
    let value = ''
    while (!this.isAtEnd) {
      const char = this.#text.charAt(this.#at++)
      if (char === ',') break
      if (char === '=') throw badRequest(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`)
      value += char === '\\' ? this.#escaped() : char
    }
    return value
  }

  #escaped(): string {
    const char = this.#text.charAt(this.#at++)
    if (char === '' || !ESCAPABLE.includes(char))
      throw badRequest(`invalid field selector: invalid escape sequence: \\${char}`)
    return char
  }
}

/** The longer ones come first, because one starts with another. */
const OPERATORS = ['!=', '==', '=']
const ESCAPABLE = '\\,='

export const formatFieldSelector = (selector: FieldSelector): string =>
  selector.map(({ field, operator, value }) => `${field}${operator}${value.replace(/[\\,=]/g, '\\$&')}`).join(',')

/** `read` reads a field of the object as text; an absent one reads as the empty string. */
export function matchesFields(selector: FieldSelector, read: (field: string) => string): boolean {
  for (const { field, operator, value } of selector) if ((read(field) === value) !== (operator === '=')) return false
  return true
}

/** The value that the selector demands of the field, if it names exactly one. */
export const requiredFieldValue = (selector: FieldSelector, field: string): string | undefined =>
  selector.find((one) => one.field === field && one.operator === '=')?.value

/**
 * Every field a selector names must be one that the kind can select by. Kinds with fields of their own word the
 * refusal differently from those with none.
 */
export function checkFieldSelector(selector: FieldSelector, selectable: ReadonlySet<string>): void {
  for (const { field } of selector) {
    if (field === 'metadata.name' || field === 'metadata.namespace' || selectable.has(field)) continue
    throw badRequest(
      selectable.size > 0
        ? `field label not supported: ${field}`
        : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    )
  }
}
