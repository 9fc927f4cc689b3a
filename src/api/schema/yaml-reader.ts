import type { Composer, CST, Document, Lexer, LineCounter, Node, Parser, Tags } from 'yaml'

/** What is used of the library. */
export interface YamlLibrary {
  readonly Composer: typeof Composer
  readonly Lexer: typeof Lexer
  readonly LineCounter: typeof LineCounter
  readonly Parser: typeof Parser
}

export interface YamlLimits {
  /** The composer recurses, and V8 ends the process when a regular expression is compiled on a nearly full stack. */
  readonly nesting: number
  /** Pieces of syntax. */
  readonly lexemes: number
  /** References to anchors: in the text, and to one anchor where they multiply. */
  readonly aliases: number
  readonly expandedAliases: number
  /** Of the JSON, since a small text with aliases may stand for a huge tree. */
  readonly depth: number
  readonly weight: number
  readonly characters: number
  /** Duplicate keys that are named. */
  readonly duplicates: number
}

/** What the entries of one object or list weigh. */
export type WeightOf = (entries: number, isObject: boolean) => number

export type YamlResult =
  | { readonly json: string; readonly duplicates: readonly string[] }
  | { readonly problem: string; readonly line?: number | undefined }

/**
 * Reads YAML as kubectl and the upstream server do: version 1.1 (`yes` and `on` are true, 0644 is octal), but times stay
 * text. Only the first document counts. The text of this class is also the program of a worker thread: it uses nothing
 * from outside but its arguments.
 */
export class YamlReader {
  readonly #yaml: YamlLibrary
  readonly #limits: YamlLimits
  readonly #weightOf: WeightOf

  constructor(yaml: YamlLibrary, limits: YamlLimits, weightOf: WeightOf) {
    this.#yaml = yaml
    this.#limits = limits
    this.#weightOf = weightOf
  }

  read(text: string): YamlResult {
    const lines = new this.#yaml.LineCounter()
    const tokens = this.#tokens(text, lines)
    if (tokens === undefined) return { problem: 'the document is too large' }
    if (this.#isNestedTooDeep(tokens)) return { problem: 'exceeded max depth' }
    try {
      return this.#convert(text, tokens, lines)
    } catch (error) {
      // The composer recurses; an alias bomb is a ReferenceError.
      if (error instanceof RangeError || error instanceof ReferenceError)
        return { problem: 'exceeded max depth or aliases' }
      // The parser's own message for a `<<` that does not merge a map.
      if ((error as Error).constructor === Error) return { problem: (error as Error).message }
      throw error
    }
  }

  #convert(text: string, tokens: readonly CST.Token[], lines: LineCounter): YamlResult {
    const options = { version: '1.1', customTags: this.#plainTags, logLevel: 'silent', uniqueKeys: false } as const
    const documents = new this.#yaml.Composer(options).compose(tokens, true, text.length)
    const { value: document } = documents.next() as { value: Document.Parsed }
    const [fatal] = document.errors
    if (fatal) return { problem: fatal.message.split('\n')[0]!, line: lines.linePos(fatal.pos[0]).line }
    const value: unknown = document.toJS({ maxAliasCount: this.#limits.expandedAliases }) ?? null
    if (!this.#isWithin(value)) return { problem: 'the document is too large' }
    return { json: JSON.stringify(value), duplicates: this.#duplicates(document.contents, text, lines) }
  }

  /** Undefined if the text has more syntax than any real manifest. */
  #tokens(text: string, lines: LineCounter): CST.Token[] | undefined {
    lines.addNewLine(0)
    const parser = new this.#yaml.Parser(lines.addNewLine)
    const tokens: CST.Token[] = []
    const { lexemes, aliases } = this.#limits
    let count = 0
    let aliasCount = 0
    let isScalar = false
    for (const lexeme of new this.#yaml.Lexer().lex(text)) {
      if (!isScalar && lexeme.charCodeAt(0) === 0x2a) aliasCount++
      if (++count > lexemes || aliasCount > aliases) return undefined
      // A control character announces the text of a scalar.
      isScalar = lexeme === '\u001f'
      for (const token of parser.next(lexeme)) tokens.push(token)
    }
    for (const token of parser.end()) tokens.push(token)
    return tokens
  }

  /** Looks at the syntax alone, without recursion: that is what makes it safe to go on. */
  #isNestedTooDeep(tokens: readonly CST.Token[]): boolean {
    const waiting: { token: CST.Token; depth: number }[] = []
    const visit = (token: CST.Token | null | undefined, depth: number) => token && waiting.push({ token, depth })
    for (const token of tokens) visit(token, 0)
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { token, depth } = next
      if (depth > this.#limits.nesting) return true
      if (token.type === 'document') visit(token.value, depth)
      else if ('items' in token) {
        for (const { key, value } of token.items) {
          visit(key, depth + 1)
          visit(value, depth + 1)
        }
      }
    }
    return false
  }

  /** Upstream's parser knows no sexagesimal numbers, and hands out times as text. */
  #plainTags = (tags: Tags): Tags =>
    tags.filter(
      (tag) => typeof tag === 'string' || (tag.format !== 'TIME' && tag.tag !== 'tag:yaml.org,2002:timestamp'),
    )

  #isWithin(root: unknown): boolean {
    let { weight, characters } = this.#limits
    const visit = (value: unknown, depth: number): boolean => {
      if (typeof value === 'string') characters -= value.length
      if (weight < 0 || characters < 0 || depth < 0) return false
      if (typeof value !== 'object' || value === null) return true
      const keys = Array.isArray(value) ? [] : Object.keys(value)
      const children: readonly unknown[] = Object.values(value)
      weight -= this.#weightOf(children.length, keys.length > 0)
      for (const key of keys) characters -= key.length
      return children.every((child) => visit(child, depth - 1))
    }
    return visit(root, this.#limits.depth)
  }

  #duplicates(root: Node | null, text: string, lines: LineCounter): string[] {
    const found: string[] = []
    const visit = (node: unknown): void => {
      if (typeof node !== 'object' || node === null || !('items' in node)) return
      const seen = new Set<unknown>()
      for (const item of node.items as readonly { key?: unknown; value?: unknown }[]) {
        if (item.key === undefined) visit(item)
        else {
          const { value: key, range } = (item.key ?? {}) as { value?: unknown; range?: readonly number[] }
          if (range && seen.has(key) && found.length < this.#limits.duplicates) {
            const name = /^[^\s:]+/.exec(text.slice(range[0], range[1]))?.[0] ?? ''
            found.push(`  line ${lines.linePos(range[0]!).line}: key ${JSON.stringify(name)} already set in map`)
          }
          if (range) seen.add(key)
          visit(item.key)
          visit(item.value)
        }
      }
    }
    visit(root)
    return found
  }
}
