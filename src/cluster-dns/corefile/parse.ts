import { CorefileError } from './corefile-error.ts'
import { type Token, tokenize } from './tokens.ts'

/** One line of a block: a plugin with its arguments, or an option of one. */
export interface Directive {
  readonly name: string
  readonly args: readonly string[]
  readonly line: number
  /** What stands in its braces; empty if there are none. */
  readonly options: readonly Directive[]
}

export interface ServerBlock {
  /** `.`, `example.org:53`, `dns://10.in-addr.arpa`: as written. */
  readonly keys: readonly string[]
  readonly line: number
  readonly directives: readonly Directive[]
}

/** Reads a Corefile; throws CorefileError. */
export function parseCorefile(
  source: string,
  environment: Readonly<Record<string, string | undefined>> = {},
): readonly ServerBlock[] {
  const blocks = new Parser(tokenize(source, environment)).blocks()
  if (blocks.length === 0) throw new CorefileError(1, 'there is no server block')
  return blocks
}

const OPEN = '{'
const CLOSE = '}'

class Parser {
  readonly #tokens: readonly Token[]
  readonly #snippets = new Map<string, readonly Directive[]>()
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  blocks(): ServerBlock[] {
    const blocks: ServerBlock[] = []
    while (this.#at < this.#tokens.length) {
      const { keys, line } = this.#keys()
      const directives = this.#directives(line)
      const snippet = keys.length === 1 ? /^\((.+)\)$/.exec(keys[0]!)?.[1] : undefined
      if (snippet === undefined) blocks.push({ keys, line, directives })
      else this.#snippets.set(snippet, directives)
    }
    return blocks
  }

  /** Up to the opening brace; commas may stand between keys. */
  #keys(): { keys: string[]; line: number } {
    const { line } = this.#tokens[this.#at]!
    const keys: string[] = []
    for (;;) {
      const token = this.#tokens[this.#at++]
      if (!token) throw new CorefileError(line, "expected '{' after the zones of a server block")
      if (isBrace(token, OPEN)) break
      if (isBrace(token, CLOSE)) throw new CorefileError(token.line, "unexpected '}'")
      keys.push(...token.text.split(',').filter((key) => key !== ''))
    }
    if (keys.length === 0) throw new CorefileError(line, 'a server block without a zone')
    return { keys, line }
  }

  /** Everything up to the closing brace, which is taken too. */
  #directives(openedAt: number): Directive[] {
    const directives: Directive[] = []
    for (;;) {
      const token = this.#tokens[this.#at]
      if (!token) throw new CorefileError(openedAt, "'{' without its '}'")
      if (isBrace(token, OPEN)) throw new CorefileError(token.line, "unexpected '{'")
      if (isBrace(token, CLOSE)) {
        this.#at++
        return directives
      }
      const directive = this.#directive()
      if (directive.name === 'import') directives.push(...this.#imported(directive))
      else directives.push(directive)
    }
  }

  /** The rest of the line belongs to its first word. */
  #directive(): Directive {
    const { text: name, line } = this.#tokens[this.#at++]!
    const args: string[] = []
    for (;;) {
      const token = this.#tokens[this.#at]
      if (!token || token.line !== line || isBrace(token, CLOSE)) return { name, args, line, options: [] }
      this.#at++
      if (isBrace(token, OPEN)) return { name, args, line, options: this.#directives(line) }
      args.push(token.text)
    }
  }

  #imported({ args, line }: Directive): readonly Directive[] {
    const snippet = this.#snippets.get(args[0] ?? '')
    if (args.length !== 1) throw new CorefileError(line, 'import takes the name of one snippet')
    // A pattern of files that matches none is no mistake; there are never any here.
    if (!snippet && args[0]!.includes('*')) return []
    if (!snippet) throw new CorefileError(line, `there is no snippet '${args[0]}' above`)
    return snippet
  }
}

const isBrace = ({ text, quoted }: Token, brace: string) => !quoted && text === brace
