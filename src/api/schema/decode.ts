import { isAscii, isUtf8 } from 'node:buffer'
import { type ApiError, badRequest, requestTooLarge } from '../meta/api-error.ts'
import { formatPath, type ShapeReport } from './check-shape.ts'
import { MAX_FOUND, MAX_PROBLEMS, readJson } from './json-reader.ts'
import { KEY_WEIGHT, MANY_KEYS, scanJson, weighJson } from './json-scan.ts'
import { PathTree } from './path-tree.ts'

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
 * Fields and items of a body together. An object of real ones reaches the store's limit of 1.5 MiB first; one with more
 * holds a million empty objects, each of which costs every later step its time.
 */
export const MAX_WEIGHT = 100_000
/** Smaller bodies cannot weigh so much. */
const LARGE_BYTES = MAX_WEIGHT / 2

export function refuseHeavy(weight: number): void {
  if (weight > MAX_WEIGHT)
    throw requestTooLarge(
      `Request entity too large: the object has more than ${MAX_WEIGHT} fields and items, where each field of a map with more than ${MANY_KEYS} counts as ${KEY_WEIGHT}`,
    )
}

/**
 * Throws a bad request if the bytes are no JSON, no UTF-8, nested too deep, or make too much work. The last of two equal keys wins. With
 * `expectedKind` the value must be an object, and the message names that kind.
 */
export function decodeJson(bytes: Buffer, expectedKind?: string): DecodedBody {
  const fail = (why: string) => unrecognized(why, bytes, expectedKind)
  const { keys, depth, hasLongNumber } = scanJson(bytes)
  if (depth > MAXIMUM_DEPTH) throw fail('exceeded max depth')
  if (bytes.length > LARGE_BYTES) refuseHeavy(weighJson(bytes, depth))
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
    const value: unknown = JSON.parse(text)
    return SURROGATE_ESCAPE.test(text) ? withoutHalfPairs(value) : value
  } catch {
    throw fail(readJson(text) ?? 'invalid JSON')
  }
}

const hasInfinity = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(hasInfinity)
    : value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/

/** Half of a surrogate pair is no text and has no UTF-8; like upstream, it is read as the replacement character. */
function withoutHalfPairs(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return value.map(withoutHalfPairs)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [wellFormed(key), withoutHalfPairs(child)]))
}

/** UTF-8 has no form for half a pair, and its encoder writes the replacement character. */
const wellFormed = (text: string) => Buffer.from(text).toString()

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
  const named = (path: string) => `unknown field ${JSON.stringify(path)}`
  if (body.keys < 0 || body.keys === report.keys)
    return [...body.duplicates, ...new Set(report.unknownFields.map((path) => named(formatPath(path))))]
  const problems = new Set<string>()
  let left = MAX_FOUND
  const note = (path: string) => left-- > 0 && problems.size < MAX_PROBLEMS && problems.add(path)
  readJson(
    body.text,
    (path, isDuplicate, place) => {
      if (left <= 0) return
      if (place?.isMember) note(named(formatPath(path)))
      else if (isDuplicate && place !== PathTree.BELOW) note(`duplicate field ${JSON.stringify(formatPath(path))}`)
    },
    PathTree.of(report.unknownFields),
  )
  return [...problems]
}
