import type { CST, Document, Tags } from 'yaml'
import { badRequest } from '../meta/api-error.ts'
import { type DecodedBody, decodeText } from './decode.ts'
import { countKeys } from './json-scan.ts'

/** More references to anchors than any real manifest has. */
const MAXIMUM_ALIASES = 100
const MAXIMUM_KEYS = 1_000_000
const MAXIMUM_DEPTH = 1000
/** The composer recurses, and V8 ends the process when a regular expression is compiled on a nearly full stack. */
const MAXIMUM_NESTING = 200

/**
 * A YAML body as kubectl and the upstream server read it: version 1.1 (`yes` and `on` are true, 0644 is octal), but
 * times stay text. Only the first document counts. Loads the parser on first use.
 */
export async function decodeYaml(body: string | Buffer): Promise<DecodedBody> {
  const { Parser, parseDocument } = await import('yaml')
  const text = typeof body === 'string' ? body : decodeText(body)
  if (text === undefined) throw yamlError('control characters are not allowed')
  if (isNestedTooDeep(new Parser().parse(text))) throw yamlError('exceeded max depth')
  try {
    const document = parseDocument(text, { version: '1.1', customTags: plainTags, logLevel: 'silent' })
    const fatal = document.errors.find((e) => e.code !== 'DUPLICATE_KEY' && e.code !== 'MULTIPLE_DOCS')
    if (fatal)
      throw yamlError(fatal.message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, ''), fatal.linePos?.[0].line)
    const value: unknown = document.toJS({ maxAliasCount: MAXIMUM_ALIASES })
    checkSize(value)
    // Through JSON, so that objects named by two aliases become two.
    return {
      value: JSON.parse(JSON.stringify(value ?? null)),
      keys: -1,
      duplicates: duplicateKeys(document, text),
      text,
    }
  } catch (error) {
    // The parser recurses; an alias bomb is a ReferenceError.
    if (error instanceof RangeError || error instanceof ReferenceError) throw yamlError('exceeded max depth or aliases')
    // The parser's own word for a `<<` that merges no map.
    if ((error as Error).constructor === Error) throw yamlError((error as Error).message)
    throw error
  }
}

const yamlError = (message: string, line?: number) =>
  badRequest(`error converting YAML to JSON: yaml: ${line === undefined ? '' : `line ${line}: `}${message}`)

/** Upstream's parser knows no sexagesimal numbers, and hands out times as text. */
const plainTags = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && tag.tag !== 'tag:yaml.org,2002:timestamp'))

/** Looks at the syntax alone, without recursion: that is what makes it safe to go on. */
function isNestedTooDeep(tokens: Iterable<CST.Token>): boolean {
  const waiting: { token: CST.Token; depth: number }[] = []
  const visit = (token: CST.Token | null | undefined, depth: number) => token && waiting.push({ token, depth })
  for (const token of tokens) visit(token, 0)
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { token, depth } = next
    if (depth > MAXIMUM_NESTING) return true
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

/** Aliases share objects, so a small text may still stand for a huge tree. */
function checkSize(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (depthOf(value, 0) > MAXIMUM_DEPTH || countKeys(value) > MAXIMUM_KEYS) throw yamlError('document is too large')
}

function depthOf(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > MAXIMUM_DEPTH) return depth
  let deepest = depth
  for (const child of Object.values(value)) deepest = Math.max(deepest, depthOf(child, depth + 1))
  return deepest
}

function duplicateKeys(document: Document, text: string): string[] {
  const found = document.errors.filter((error) => error.code === 'DUPLICATE_KEY')
  if (found.length === 0) return []
  const lines = found.map((error) => {
    const key = /^[^\s:]+/.exec(text.slice(error.pos[0]))?.[0] ?? ''
    return `  line ${error.linePos?.[0].line ?? 0}: key ${JSON.stringify(key)} already set in map`
  })
  return [`yaml: unmarshal errors:\n${lines.join('\n')}`]
}
