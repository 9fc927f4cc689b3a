import { CorefileError } from './corefile-error.ts'

export interface Token {
  readonly text: string
  readonly line: number
  /** In quotes braces and hashes mean nothing. */
  readonly quoted: boolean
}

/** What separates a Corefile: white space, quotes, comments; `{$NAME}` and `{%NAME%}` stand for the environment. */
export function tokenize(source: string, environment: Readonly<Record<string, string | undefined>>): Token[] {
  const tokens: Token[] = []
  for (const [index, text] of source.split(/\r?\n/).entries())
    tokens.push(...tokensOfLine(text, index + 1, environment))
  return tokens
}

/** A comment, a text in quotes (perhaps without an end), or what stands between white space. */
const PART = /#.*|"((?:[^"\\]|\\.)*)("?)|[^\s"]\S*/y

function* tokensOfLine(
  text: string,
  line: number,
  environment: Readonly<Record<string, string | undefined>>,
): Generator<Token> {
  for (let at = 0; at < text.length; ) {
    if (/\s/.test(text[at]!)) {
      at++
      continue
    }
    PART.lastIndex = at
    const [whole, quoted, end] = PART.exec(text)!
    at += whole.length
    if (whole.startsWith('#')) return
    if (quoted === undefined) yield { text: withEnvironment(whole, environment), line, quoted: false }
    else if (end === '') throw new CorefileError(line, 'a text in quotes has no end')
    else yield { text: withEnvironment(quoted.replace(/\\(["\\])/g, '$1'), environment), line, quoted: true }
  }
}

const withEnvironment = (text: string, environment: Readonly<Record<string, string | undefined>>) =>
  text.includes('{')
    ? text.replace(
        /\{\$([^{}]+)\}|\{%([^{}]+)%\}/g,
        (_, unix: string | undefined, other: string | undefined) => environment[unix ?? other ?? ''] ?? '',
      )
    : text
