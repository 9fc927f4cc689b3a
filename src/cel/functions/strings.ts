import type { Re2 } from '../../base/re2.ts'
import type { Budget, Functions } from '../library.ts'
import { CelError } from '../values.ts'
import { formatText } from './format-text.ts'
import { codePoints, unitsOf } from './size.ts'

/** Work that grows with the text. */
const walk = (budget: Budget, ...texts: string[]) => {
  for (const text of texts) budget.work(unitsOf(text))
}

/** A regular expression costs its text times its own length. */
const workOfMatch = (budget: Budget, text: string, pattern: string) =>
  budget.work(Math.ceil((text.length + 1) / 10) * Math.ceil((pattern.length + 3) / 4))

function indexOf(text: string, part: string, from: bigint): bigint {
  const points = codePoints(text)
  if (from < 0n || from > points.length) throw new CelError(`index out of range: ${from}`)
  const start = points.slice(0, Number(from)).join('').length
  const found = text.indexOf(part, start)
  return found < 0 ? -1n : BigInt(codePoints(text.slice(0, found)).length)
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const points = codePoints(text)
  if (from !== undefined && (from < 0n || from > points.length)) throw new CelError(`index out of range: ${from}`)
  const start = from === undefined ? undefined : points.slice(0, Number(from)).join('').length
  const found = text.lastIndexOf(part, start)
  return found < 0 ? -1n : BigInt(codePoints(text.slice(0, found)).length)
}

function substring(text: string, from: bigint, to?: bigint): string {
  const points = codePoints(text)
  const end = to ?? BigInt(points.length)
  if (from < 0n || from > points.length) throw new CelError(`index out of range: ${from}`)
  if (end < 0n || end > points.length) throw new CelError(`index out of range: ${end}`)
  if (from > end) throw new CelError(`invalid substring range. start: ${from}, end: ${end}`)
  return points.slice(Number(from), Number(end)).join('')
}

function charAt(text: string, at: bigint): string {
  const points = codePoints(text)
  if (at < 0n || at > points.length) throw new CelError(`index out of range: ${at}`)
  return points[Number(at)] ?? ''
}

function replace(text: string, old: string, by: string, limit: bigint, budget: Budget): string {
  walk(budget, text, by)
  if (limit < 0n) {
    budget.work(Math.ceil((text.length * by.length) / 10))
    return text.replaceAll(old, () => by)
  }
  let result = text
  let from = 0
  for (let i = 0n; i < limit; i++) {
    const found = result.indexOf(old, from)
    if (found < 0) break
    result = result.slice(0, found) + by + result.slice(found + old.length)
    from = found + by.length
    budget.work(1)
  }
  return result
}

function split(text: string, separator: string, limit: bigint): string[] {
  if (limit === 0n) return []
  const parts = separator === '' ? codePoints(text) : text.split(separator)
  if (limit < 0n || parts.length <= limit) return parts
  const kept = Number(limit) - 1
  return [...parts.slice(0, kept), parts.slice(kept).join(separator)]
}

/** Letters of the English alphabet alone. */
const lowerAscii = (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())
const upperAscii = (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())

const SPECIAL: Readonly<Record<string, string>> = { '\x07': '\\a', '\v': '\\v' }
const quoted = (char: string) => SPECIAL[char] ?? JSON.stringify(char).slice(1, -1)
const quote = (text: string) => `"${codePoints(text).map(quoted).join('')}"`

const costly =
  (run: (text: string, ...args: never[]) => string | string[] | bigint | boolean) =>
  (text: string, ...rest: unknown[]) => {
    walk(rest.at(-1) as Budget, text)
    return run(text, ...(rest.slice(0, -1) as never[]))
  }

export const strings = (re2: Re2): Functions => ({
  'string.contains(string): bool': costly((text, part: string) => text.includes(part)),
  'string.startsWith(string): bool': (text: string, part: string) => text.startsWith(part),
  'string.endsWith(string): bool': (text: string, part: string) => text.endsWith(part),
  'string.matches(string): bool': (text: string, pattern: string, budget: Budget) =>
    matches(re2, text, pattern, budget),
  'matches(string, string): bool': (text: string, pattern: string, budget: Budget) =>
    matches(re2, text, pattern, budget),
  'string.find(string): string': (text: string, pattern: string, budget: Budget) =>
    findAll(re2, text, pattern, 1, budget)[0] ?? '',
  'string.findAll(string): list<string>': (text: string, pattern: string, budget: Budget) =>
    findAll(re2, text, pattern, -1, budget),
  'string.findAll(string, int): list<string>': (text: string, pattern: string, limit: bigint, budget: Budget) =>
    findAll(re2, text, pattern, Number(limit), budget),
  'string.charAt(int): string': charAt,
  'string.indexOf(string): int': costly((text, part: string) => indexOf(text, part, 0n)),
  'string.indexOf(string, int): int': costly(indexOf),
  'string.lastIndexOf(string): int': costly((text, part: string) => lastIndexOf(text, part)),
  'string.lastIndexOf(string, int): int': costly(lastIndexOf),
  'string.lowerAscii(): string': costly(lowerAscii),
  'string.upperAscii(): string': costly(upperAscii),
  'string.trim(): string': costly((text) => text.trim()),
  'string.reverse(): string': costly((text) => codePoints(text).reverse().join('')),
  'string.replace(string, string): string': (text: string, old: string, by: string, budget: Budget) =>
    replace(text, old, by, -1n, budget),
  'string.replace(string, string, int): string': replace,
  'string.split(string): list<string>': costly((text, separator: string) => split(text, separator, -1n)),
  'string.split(string, int): list<string>': costly(split),
  'string.substring(int): string': costly((text, from: bigint) => substring(text, from)),
  'string.substring(int, int): string': costly(substring),
  'list<string>.join(): string': (texts: string[], budget: Budget) => {
    walk(budget, ...texts)
    return texts.join('')
  },
  'list<string>.join(string): string': (texts: string[], separator: string, budget: Budget) => {
    walk(budget, ...texts, separator)
    return texts.join(separator)
  },
  'strings.quote(string): string': costly(quote),
  'string.format(list<A>): string': formatText,
  'base64.encode(bytes): string': (bytes: Uint8Array) => Buffer.from(bytes).toString('base64'),
  'base64.decode(string): bytes': (text: string, budget: Budget) => {
    walk(budget, text)
    return new Uint8Array(Buffer.from(text, 'base64'))
  },
})

function matches(re2: Re2, text: string, pattern: string, budget: Budget): boolean {
  workOfMatch(budget, text, pattern)
  checkPattern(re2, pattern)
  return re2.matches(pattern, text)
}

function findAll(re2: Re2, text: string, pattern: string, limit: number, budget: Budget): string[] {
  workOfMatch(budget, text, pattern)
  checkPattern(re2, pattern)
  return re2.findAll(pattern, text, limit)
}

function checkPattern(re2: Re2, pattern: string): void {
  const problem = re2.problem(pattern)
  if (problem !== undefined) throw new CelError(problem)
}
