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

/** `metadata.name=x,status.phase!=Running`; `\\`, `\,` and `\=` stand for themselves in values. Throws BadRequest. */
export function parseFieldSelector(text: string): FieldSelector {
  const selector: FieldRequirement[] = []
  for (const term of splitTerms(text)) {
    if (term === '') continue
    const split = splitTerm(term)
    if (!split) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
    selector.push({ ...split, value: unescapeValue(split.value) })
    if (selector.length > MAX_REQUIREMENTS)
      throw badRequest(`a field selector may have at most ${MAX_REQUIREMENTS} requirements`)
  }
  return selector
}

function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === ',') {
      terms.push(text.slice(start, at))
      start = at + 1
    }
  }
  terms.push(text.slice(start))
  return terms
}

/** Cuts at the first operator; the longer ones win. */
function splitTerm(term: string): FieldRequirement | undefined {
  for (let at = 0; at < term.length; at++) {
    const rest = term.slice(at, at + 2)
    const operator = rest === '!=' || rest === '==' ? rest : rest[0] === '=' ? '=' : undefined
    if (operator)
      return {
        field: term.slice(0, at),
        operator: operator === '!=' ? '!=' : '=',
        value: term.slice(at + operator.length),
      }
  }
  return undefined
}

function unescapeValue(value: string): string {
  if (!/[\\,=]/.test(value)) return value
  let plain = ''
  for (let at = 0; at < value.length; at++) {
    let char = value[at]!
    if (char === ',' || char === '=')
      throw badRequest(`invalid field selector: unescaped character in value: ${value.charCodeAt(at)}`)
    if (char === '\\') {
      char = value[++at] ?? ''
      if (char !== '\\' && char !== ',' && char !== '=')
        throw badRequest(`invalid field selector: invalid escape sequence: \\${char}`)
    }
    plain += char
  }
  return plain
}

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
