/** What is wrong with an expression, and where. */
export interface CelProblem {
  readonly position: number
  readonly message: string
}

export class CelSyntaxError extends Error {
  readonly position: number

  constructor(message: string, position: number) {
    super(message)
    this.position = position
  }
}

export interface Token {
  readonly type: 'identifier' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'operator' | 'end'
  readonly text: string
  readonly value?: string | Uint8Array
  readonly position: number
}

const SPACE = /\s+|\/\/[^\n]*/y
const NUMBER = /0x[0-9a-fA-F]+u?|(?:\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|\d+[uU]?/y
const IDENTIFIER = /[_a-zA-Z][_a-zA-Z0-9]*/y
const QUOTED_IDENTIFIER = /`[a-zA-Z0-9_.\-/ ]+`/y
const STRING_START = /([rR]?[bB]?|[bB][rR])("""|'''|"|')/y
const OPERATOR = /&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()[\]{}]/y

export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const read = (pattern: RegExp) => {
    pattern.lastIndex = at
    return pattern.exec(text)
  }
  while (at < text.length) {
    const space = read(SPACE)
    if (space) {
      at += space[0].length
      continue
    }
    const token = readString(text, at, read(STRING_START)) ?? readPlain(at, read)
    if (!token) throw new CelSyntaxError(`Syntax error: token recognition error at: '${text[at]}'`, at)
    tokens.push(token.token)
    at = token.next
  }
  tokens.push({ type: 'end', text: '<EOF>', position: text.length })
  return tokens
}

interface Read {
  readonly token: Token
  readonly next: number
}

function readPlain(at: number, read: (pattern: RegExp) => RegExpExecArray | null): Read | undefined {
  const number = read(NUMBER)?.[0]
  if (number) {
    const isDouble = !number.startsWith('0x') && /[.eE]/.test(number)
    const type = isDouble ? 'double' : /[uU]$/.test(number) ? 'uint' : 'int'
    return { token: { type, text: number, position: at }, next: at + number.length }
  }
  const name = read(IDENTIFIER)?.[0]
  if (name) return { token: { type: 'identifier', text: name, position: at }, next: at + name.length }
  const quoted = read(QUOTED_IDENTIFIER)?.[0]
  if (quoted)
    return { token: { type: 'identifier', text: quoted.slice(1, -1), position: at }, next: at + quoted.length }
  const operator = read(OPERATOR)?.[0]
  return operator
    ? { token: { type: 'operator', text: operator, position: at }, next: at + operator.length }
    : undefined
}

function readString(text: string, at: number, start: RegExpExecArray | null): Read | undefined {
  if (!start) return undefined
  const [opening, prefix = '', quote = ''] = start
  const isRaw = /r/i.test(prefix)
  let end = at + opening.length
  while (end < text.length && !text.startsWith(quote, end)) {
    if (quote.length === 1 && text[end] === '\n') break
    end += text[end] === '\\' && !isRaw ? 2 : 1
  }
  if (!text.startsWith(quote, end))
    throw new CelSyntaxError(`Syntax error: token recognition error at: '${text.slice(at, end)}'`, at)
  const body = text.slice(at + opening.length, end)
  const next = end + quote.length
  const token = { text: text.slice(at, next), position: at }
  if (/b/i.test(prefix)) return { token: { ...token, type: 'bytes', value: toBytes(body, isRaw, at) }, next }
  return { token: { ...token, type: 'string', value: isRaw ? body : unescaped(body, at) }, next }
}

const ESCAPE = /\\(?:([abfnrtv\\?"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.?))/gs
const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

function unescaped(body: string, position: number): string {
  return body.replace(ESCAPE, (_, simple, hex, short, long, octal, other) => {
    if (simple !== undefined) return SIMPLE[simple] ?? simple
    if (other !== undefined) throw new CelSyntaxError(`Syntax error: invalid escape \\${other}`, position)
    const code = octal !== undefined ? Number.parseInt(octal, 8) : Number.parseInt(hex ?? short ?? long, 16)
    if (code > 0x10ffff) throw new CelSyntaxError('Syntax error: invalid unicode code point', position)
    return String.fromCodePoint(code)
  })
}

/** Text stands for its UTF-8; `\xff` and `\377` for one byte each. */
function toBytes(body: string, isRaw: boolean, position: number): Uint8Array {
  if (isRaw) return new TextEncoder().encode(body)
  const parts: Uint8Array[] = []
  let last = 0
  for (const match of body.matchAll(ESCAPE)) {
    parts.push(new TextEncoder().encode(body.slice(last, match.index)))
    const [whole, , hex, , , octal] = match
    const byte = hex ?? octal
    if (byte === undefined) parts.push(new TextEncoder().encode(unescaped(whole, position)))
    else parts.push(Uint8Array.of(Number.parseInt(byte, octal === undefined ? 16 : 8)))
    last = match.index + whole.length
  }
  parts.push(new TextEncoder().encode(body.slice(last)))
  return Buffer.concat(parts)
}
