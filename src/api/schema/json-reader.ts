import { formatPath } from './check-shape.ts'
import type { Path, PathTree } from './path-tree.ts'

/**
 * Called for each key in the order of the text. The path changes after the call; `isDuplicate` if its object had the key
 * before. `place` is where the path is in the tree that the reader follows.
 */
export type KeyListener = (path: Path, isDuplicate: boolean, place: PathTree | undefined) => void

/**
 * The slow reader, for documents in which something is wrong: names fields that come twice, and words syntax errors
 * as upstream's decoder does. Returns the error, or undefined if the text is JSON.
 */
export function readJson(text: string, onKey: KeyListener = () => {}, followed?: PathTree): string | undefined {
  try {
    new JsonReader(text, onKey).document(followed)
    return undefined
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message
    throw error
  }
}

/** As many problems as upstream's decoder names. */
export const MAX_PROBLEMS = 100
/** The same path may be found again and again, and its name is long where it is deep. */
export const MAX_FOUND = 10 * MAX_PROBLEMS

/** Paths of the fields that come more than once, such as `spec.replicas`, each named once. */
export function findDuplicateFields(text: string): string[] {
  const found = new Set<string>()
  let left = MAX_FOUND
  readJson(text, (path, isDuplicate) => {
    if (isDuplicate && left-- > 0 && found.size < MAX_PROBLEMS) found.add(formatPath(path))
  })
  return [...found]
}

class JsonSyntaxError extends Error {}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LITERALS = new Map([
  ['t', 'true'],
  ['f', 'false'],
  ['n', 'null'],
])
const QUOTE = 0x22
const BACKSLASH = 0x5c

class JsonReader {
  readonly #text: string
  readonly #onKey: KeyListener
  readonly #path: (string | number)[] = []
  #at = 0

  constructor(text: string, onKey: KeyListener) {
    this.#text = text
    this.#onKey = onKey
  }

  document(place: PathTree | undefined): void {
    this.#value(place)
    this.#space()
    if (this.#at < this.#text.length) this.#fail('after top-level value')
  }

  #value(place: PathTree | undefined): void {
    this.#space()
    const first = this.#text[this.#at]
    if (first === '{') this.#object(place)
    else if (first === '[') this.#list(place)
    else if (first === '"') this.#string()
    else if (first !== undefined && LITERALS.has(first)) this.#literal(LITERALS.get(first)!)
    else if (first !== undefined && /[-\d]/.test(first)) this.#number()
    else this.#fail('looking for beginning of value')
  }

  #object(place: PathTree | undefined): void {
    this.#at++
    const seen = new Set<string>()
    this.#space()
    if (this.#take('}')) return
    for (;;) {
      this.#space()
      if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string')
      const below = this.#key(seen, place)
      this.#space()
      if (!this.#take(':')) this.#fail('after object key')
      this.#value(below)
      this.#path.pop()
      this.#space()
      if (this.#take('}')) return
      if (!this.#take(',')) this.#fail('after object key:value pair')
    }
  }

  #key(seen: Set<string>, place: PathTree | undefined): PathTree | undefined {
    const start = this.#at
    this.#string()
    const text = this.#text.slice(start, this.#at)
    const key = text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
    const below = place?.child(key)
    this.#path.push(key)
    this.#onKey(this.#path, seen.has(key), below)
    seen.add(key)
    return below
  }

  #list(place: PathTree | undefined): void {
    this.#at++
    this.#space()
    if (this.#take(']')) return
    for (let i = 0; ; i++) {
      this.#path.push(i)
      this.#value(place?.child(i))
      this.#path.pop()
      this.#space()
      if (this.#take(']')) return
      if (!this.#take(',')) this.#fail('after array element')
    }
  }

  #string(): void {
    for (this.#at++; ; this.#at++) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === QUOTE) break
      // Beyond the end it is no number.
      if (!(code >= 0x20)) this.#fail('in string literal')
      if (code === BACKSLASH) this.#escape()
    }
    this.#at++
  }

  #escape(): void {
    const code = this.#text[++this.#at]
    if (code === undefined || !'"\\/bfnrtu'.includes(code)) this.#fail('in string escape code')
    if (code !== 'u') return
    for (let i = 0; i < 4; i++) {
      if (!/[0-9a-fA-F]/.test(this.#text[++this.#at] ?? '')) this.#fail('in \\u hexadecimal character escape')
    }
  }

  #literal(word: string): void {
    for (const char of word) {
      if (this.#text[this.#at] !== char) this.#fail(`in literal ${word} (expecting ${quote(char)})`)
      this.#at++
    }
  }

  #number(): void {
    NUMBER.lastIndex = this.#at
    const match = NUMBER.exec(this.#text)
    if (match === null) {
      this.#at++
      this.#fail('in numeric literal')
    }
    this.#at += match[0].length
    const next = this.#text[this.#at] ?? ''
    if (next === '.') {
      this.#at++
      this.#fail('after decimal point in numeric literal')
    }
    if (next === 'e' || next === 'E') {
      this.#at++
      this.#fail('in exponent of numeric literal')
    }
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
    }
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false
    this.#at++
    return true
  }

  #fail(where: string): never {
    const char = this.#text[this.#at]
    if (char === undefined) throw new JsonSyntaxError('unexpected end of JSON input')
    throw new JsonSyntaxError(`invalid character ${quote(char)} ${where}`)
  }
}

function quote(char: string): string {
  if (char === "'") return `'\\''`
  if (char === '"') return `'"'`
  return `'${JSON.stringify(char).slice(1, -1)}'`
}
