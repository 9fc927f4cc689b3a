import type { RE2JS } from 're2js'

interface Matcher {
  test(text: string): boolean
}

/** Regular expressions in RE2's syntax, matched in linear time: safe for patterns that users bring. */
export interface Re2 {
  /** Whether the pattern is found anywhere in the text. Throws if it is no regular expression. */
  matches(pattern: string, text: string): boolean
  /** What is wrong with a pattern, if anything. */
  problem(pattern: string): string | undefined
  /** The texts of all matches, at most `limit` of them if that is not negative. */
  findAll(pattern: string, text: string, limit: number): string[]
}

/** Compiled patterns that are kept; the ones used longest ago go first. */
const KEPT_PATTERNS = 4096

/** Longer ones take long to compile. */
const MAX_PATTERN = 4096

let loading: Promise<Re2> | undefined

/** The engine is loaded when first needed: most clusters start without a pattern. */
export function loadRe2(): Promise<Re2> {
  loading ??= import('re2js').then((module) => new CachingRe2(module.RE2JS))
  return loading
}

class CachingRe2 implements Re2 {
  readonly #compile: (pattern: string) => RE2JS
  readonly #compiled = new Map<string, RE2JS>()
  readonly #matchers = new Map<string, Matcher>()

  constructor(engine: typeof RE2JS) {
    this.#compile = (pattern) => engine.compile(pattern)
  }

  matches(pattern: string, text: string): boolean {
    let matcher = this.#matchers.get(pattern)
    if (matcher === undefined) {
      if (this.#matchers.size >= KEPT_PATTERNS) this.#matchers.clear()
      matcher = isPlain(pattern) ? new RegExp(pattern, 'u') : this.#get(pattern)
      this.#matchers.set(pattern, matcher)
    }
    return matcher.test(text)
  }

  problem(pattern: string): string | undefined {
    if (isPlain(pattern)) return undefined
    try {
      this.#get(pattern)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  findAll(pattern: string, text: string, limit: number): string[] {
    const found: string[] = []
    const matcher = this.#get(pattern).matcher(text)
    while ((limit < 0 || found.length < limit) && matcher.find()) found.push(matcher.group() ?? '')
    return found
  }

  #get(pattern: string): RE2JS {
    if (pattern.length > MAX_PATTERN) throw new Error(`the expression is longer than ${MAX_PATTERN} characters`)
    let compiled = this.#compiled.get(pattern)
    if (compiled === undefined) compiled = this.#compile(pattern)
    else this.#compiled.delete(pattern)
    this.#compiled.set(pattern, compiled)
    if (this.#compiled.size > KEPT_PATTERNS) this.#compiled.delete(this.#compiled.keys().next().value!)
    return compiled
  }
}

const ATOM = String.raw`(?:[\w@:,;<>=!#%&~" '-]|\\[./\-+*?()[\]{}|^$\\]|\[\^?(?:[\w@:,;<>=!#%&~" '/.*+?()-]|\\[./\-\]\\])+\])`
const PLAIN = new RegExp(`^\\^(?:${ATOM}|[()/]|[?*+]|\\{\\d{1,3}(?:,\\d{0,3})?\\})*\\$$`)
const REPEAT = /(?<!\\)(?:[*+]|\{)/g

/** The checks below are for patterns that people write. */
const MAX_PLAIN = 500

/** What generators write for every quantity: it has alternatives, but a character leaves few of them, and none for long. */
const QUANTITY =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$'

/**
 * Patterns that mean the same to the engine of JavaScript and cost it linear time: anchored, no alternatives, and at
 * most one repetition, which stands in no repeated group. They are most of those in use, and faster there.
 */
function isPlain(pattern: string): boolean {
  if (pattern === QUANTITY) return true
  if (pattern.length > MAX_PLAIN) return false
  const outside = pattern.replace(/\[(?:[^\]\\]|\\.)*\]/g, 'x')
  const repeats = outside.match(REPEAT)?.length ?? 0
  // Each optional part may double the work.
  const optionals = outside.match(/(?<!\\)\?/g)?.length ?? 0
  return (
    repeats <= 1 &&
    optionals <= 3 &&
    PLAIN.test(pattern) &&
    !/\(\?|\)[*+{]|[?*+}][?*+]|\^[?*+{]|\([?*+{]/.test(outside) &&
    compiles(pattern)
  )
}

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') !== undefined
  } catch {
    return false
  }
}
