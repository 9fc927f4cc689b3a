import { CorefileError } from '../../corefile/corefile-error.ts'
import { oneOf, zoneOf } from '../../corefile/options.ts'
import type { Directive } from '../../corefile/parse.ts'
import { typeNumber } from '../../wire/constants.ts'
import type { DnsRecord, Question } from '../../wire/message.ts'

/** What a rule does with a question it is about, and with the records that come back. */
export interface Rule {
  /** Undefined if the rule is not about the question. */
  change(question: Question): Question | undefined
  record?(record: DnsRecord): DnsRecord
  /** Whether the rules behind it are asked too. */
  readonly goesOn: boolean
}

const FIELDS = ['name', 'type', 'class', 'ttl'] as const
const MATCHES = ['exact', 'prefix', 'suffix', 'substring', 'regex'] as const
type Match = (typeof MATCHES)[number]

/** `rewrite [continue|stop] name [exact|prefix|suffix|substring|regex] FROM TO [answer name FROM TO]` and its kin. */
export function ruleOf(directive: Directive): Rule {
  const [first = '', ...rest] = directive.args
  const hasMode = first === 'continue' || first === 'stop'
  const goesOn = first === 'continue'
  const args = hasMode ? rest : directive.args
  const field = oneOf(directive, args[0], FIELDS)
  if (field === 'type' || field === 'class') return { ...numberRule(directive, field, args.slice(1)), goesOn }
  const isMatch = (MATCHES as readonly string[]).includes(args[1] ?? '')
  const match = (isMatch ? args[1] : 'exact') as Match
  const [from, to, ...answer] = args.slice(isMatch ? 2 : 1)
  if (from === undefined || to === undefined)
    throw new CorefileError(directive.line, `'rewrite ${field}' wants two values`)
  const matches = matcher(directive, match, from)
  if (field === 'ttl') return { ...ttlRule(directive, matches, to), goesOn }
  return { ...nameRule(directive, matches, match === 'regex' ? to : zoneOf(directive, to), answer), goesOn }
}

function numberRule(
  directive: Directive,
  field: 'type' | 'class',
  [from, to]: readonly string[],
): Omit<Rule, 'goesOn'> {
  const number = (text: string | undefined) => {
    const known = field === 'type' ? typeNumber(text ?? '') : { IN: 1, CH: 3, HS: 4 }[text?.toUpperCase() ?? '']
    if (known === undefined) throw new CorefileError(directive.line, `'${text ?? ''}' is not a ${field}`)
    return known
  }
  const [old, now] = [number(from), number(to)]
  return { change: (question) => (question[field] === old ? { ...question, [field]: now } : undefined) }
}

function ttlRule(directive: Directive, matches: Matcher, text: string): Omit<Rule, 'goesOn'> {
  const bounds = /^(\d*)(-?)(\d*)$/.exec(text)
  if (!bounds || text === '' || text === '-')
    throw new CorefileError(directive.line, `'${text}' is not a TTL or a range`)
  const least = Number(bounds[1] || 0)
  const most = bounds[2] === '' ? least : Number(bounds[3] || 0x7fffffff)
  return {
    change: (question) => (matches(question.name) ? question : undefined),
    record: (record) => ({ ...record, ttl: Math.min(Math.max(record.ttl, least), most) }),
  }
}

type Matcher = (name: string) => ((replacement: string) => string) | undefined

/** Answers how to replace what it found. Names are compared without their final dot. */
function matcher(directive: Directive, match: Match, text: string): Matcher {
  if (match === 'regex') {
    const pattern = regularExpression(directive, text)
    return (name) => {
      const found = pattern.exec(`${name}.`) ?? pattern.exec(name)
      return found ? (to) => zoneOf(directive, withGroups(to, found)) : undefined
    }
  }
  const from = zoneOf(directive, text)
  const plain: Record<Exclude<Match, 'regex'>, Matcher> = {
    exact: (name) => (name === from ? (to) => to : undefined),
    prefix: (name) => (name.startsWith(from) ? (to) => to + name.slice(from.length) : undefined),
    suffix: (name) => (name.endsWith(from) ? (to) => name.slice(0, name.length - from.length) + to : undefined),
    substring: (name) => (name.includes(from) ? (to) => name.replaceAll(from, to) : undefined),
  }
  return plain[match]
}

/** `{1}` stands for the first group. */
const withGroups = (to: string, found: RegExpExecArray) =>
  to.replace(/\{(\d)\}/g, (_, index: string) => found[Number(index)] ?? '')

function nameRule(directive: Directive, matches: Matcher, to: string, answer: readonly string[]): Omit<Rule, 'goesOn'> {
  const change = (question: Question) => {
    const replace = matches(question.name)
    return replace && { ...question, name: replace(to) }
  }
  if (answer.length === 0 || answer[1] === 'auto') return { change }
  const [word, kind, from, back] = answer
  if (word !== 'answer' || kind !== 'name' || from === undefined || back === undefined) {
    throw new CorefileError(directive.line, "behind the names may follow 'answer auto' or 'answer name FROM TO'")
  }
  const pattern = regularExpression(directive, from)
  return {
    change,
    record: (record) => {
      const found = pattern.exec(`${record.name}.`) ?? pattern.exec(record.name)
      return found ? { ...record, name: zoneOf(directive, withGroups(back, found)) } : record
    },
  }
}

function regularExpression({ line }: Directive, text: string): RegExp {
  try {
    return new RegExp(text)
  } catch {
    throw new CorefileError(line, `'${text}' is not a regular expression`)
  }
}
