import { isAscii, isUtf8 } from 'node:buffer'
import { type ApiError, badRequest } from '../meta/api-error.ts'
import type { ShapeReport } from './check-shape.ts'
import { readJson } from './json-reader.ts'
import { scanJson } from './json-scan.ts'

/** A request body, parsed once. */
export interface DecodedBody {
  readonly value: unknown
  /** How many keys the text had, to compare with those of the value; negative if that tells nothing (YAML). */
  readonly keys: number
  /** Fields that came twice, already worded; YAML's parser finds them on the way. */
  readonly duplicates: readonly string[]
  readonly text: string
}

/** Deeper documents are only sent to exhaust a parser. */
const MAXIMUM_DEPTH = 1000

/** Throws a bad request if the bytes are no JSON, no UTF-8, or nested too deep. The last of two equal keys wins. */
export function decodeJson(bytes: Buffer): DecodedBody {
  const { keys, depth } = scanJson(bytes)
  if (depth > MAXIMUM_DEPTH) throw unreadable('exceeded max depth')
  const ascii = isAscii(bytes)
  if (!ascii && !isUtf8(bytes)) throw unreadable('invalid UTF-8 in JSON text')
  const text = bytes.toString(ascii ? 'latin1' : 'utf8')
  try {
    return { value: JSON.parse(text), keys, duplicates: [], text }
  } catch {
    throw unreadable(readJson(text) ?? 'invalid JSON')
  }
}

const unreadable = (why: string): ApiError => badRequest(`couldn't get version/kind; json parse error: ${why}`)

/**
 * What a strict client wants to hear, in the order of the text: `unknown field "spec.foo"`,
 * `duplicate field "spec.replicas"`. Empty for almost every document, at no cost.
 */
export function strictProblems(body: DecodedBody, report: ShapeReport): string[] {
  const unknown = new Set(report.unknownFields)
  const named = (path: string) => `unknown field ${JSON.stringify(path)}`
  if (body.keys < 0 || body.keys === report.keys) return [...body.duplicates, ...[...unknown].map(named)]
  const problems = new Set<string>()
  readJson(body.text, (path, isDuplicate) => {
    if (unknown.has(path)) problems.add(named(path))
    else if (isDuplicate && !isBelow(path, unknown)) problems.add(`duplicate field ${JSON.stringify(path)}`)
  })
  return [...problems]
}

function isBelow(path: string, parents: ReadonlySet<string>): boolean {
  for (const parent of parents) if (path.startsWith(`${parent}.`) || path.startsWith(`${parent}[`)) return true
  return false
}
