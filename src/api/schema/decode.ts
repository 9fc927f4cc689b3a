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

/**
 * Throws a bad request if the bytes are no JSON, no UTF-8, or nested too deep. The last of two equal keys wins. With
 * `expectedKind` the value must be an object, and the message names that kind.
 */
export function decodeJson(bytes: Buffer, expectedKind?: string): DecodedBody {
  const fail = (why: string) => unrecognized(why, bytes, expectedKind)
  const { keys, depth, hasLongNumber } = scanJson(bytes)
  if (depth > MAXIMUM_DEPTH) throw fail('exceeded max depth')
  const text = decodeText(bytes)
  if (text === undefined) throw fail('invalid UTF-8 in the text')
  const value = parse(text, fail)
  // JSON.parse reads 1e999 as infinity, which would be written as null.
  if (hasLongNumber && hasInfinity(value)) throw fail('a number is too large')
  if (expectedKind !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
    throw fail(`json: cannot unmarshal ${value === null ? 'null' : type} into Go value of type ${TYPE_META}`)
  }
  return { value, keys, duplicates: [], text }
}

/** What upstream reads first of every object. */
const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** The text of UTF-8 bytes; undefined if they are none. Plain ASCII, the usual case, is quicker to read. */
export function decodeText(bytes: Buffer): string | undefined {
  if (isAscii(bytes)) return bytes.toString('latin1')
  return isUtf8(bytes) ? bytes.toString() : undefined
}

function parse(text: string, fail: (why: string) => ApiError): unknown {
  try {
    return JSON.parse(SURROGATE_ESCAPE.test(text) ? withoutHalfPairs(text) : text)
  } catch {
    throw fail(readJson(text) ?? 'invalid JSON')
  }
}

const hasInfinity = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(hasInfinity)
    : value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/
const ESCAPES = /\\(?:u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)/gs

/** Half of a surrogate pair is no text and has no UTF-8; like upstream, it is read as the replacement character. */
const withoutHalfPairs = (text: string) =>
  text.replace(ESCAPES, (sequence, _pair, half) => (half === undefined ? sequence : '\\ufffd'))

const SHOWN_BYTES = 30

function unrecognized(why: string, bytes: Buffer, expectedKind: string | undefined): ApiError {
  const message = `couldn't get version/kind; json parse error: ${why}`
  if (expectedKind === undefined) return badRequest(message)
  return badRequest(
    `the object provided is unrecognized (must be of type ${expectedKind}): ${message} (${summary(bytes)})`,
  )
}

/** The start of a body, as upstream shows it: hexadecimal unless it looks like JSON. */
function summary(bytes: Buffer): string {
  if (bytes.length === 0) return '<empty>'
  const start = bytes.subarray(0, SHOWN_BYTES).toString(bytes[0] === 0x7b ? 'utf8' : 'hex')
  return bytes.length > SHOWN_BYTES ? `${start} ...` : start
}

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
