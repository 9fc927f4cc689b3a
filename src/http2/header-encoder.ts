import { STATIC_TABLE } from './hpack-tables.ts'

export type AnswerHeaders = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** What belongs to one connection of HTTP/1.1, RFC 9113, 8.2.2. Clients refuse answers that have it. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])
/** RFC 9110, 5.6.2. No pseudo-header is a token, so none can be passed off as a header. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/

const LONGEST_INTEGER_BYTES = 6
const UTF8_BYTES_PER_UNIT = 3
const STATUS_INDEX = 8
const LAST_STATUS_INDEX = 14
const STATUS_NAME = Buffer.of(STATUS_INDEX)

let scratch = Buffer.allocUnsafeSlow(4096)

/**
 * The header block of an answer. The bytes are good until the next call. Nothing is put into the client's table and
 * nothing is Huffman coded: answers have few headers, and packing them costs more than sending them.
 */
export function answerHeaders(status: number, headers: AnswerHeaders): Buffer {
  let end = writeStatus(status)
  for (const name in headers) {
    const value = headers[name]
    const start = value === undefined ? undefined : fieldStart(name)
    if (start === undefined) continue
    if (typeof value === 'string') end = writeField(end, start, value)
    else if (typeof value === 'number') end = writeField(end, start, String(value))
    else for (const each of value!) end = writeField(end, start, each)
  }
  return scratch.subarray(0, end)
}

const statusIndexes = new Map(
  STATIC_TABLE.slice(STATUS_INDEX - 1, LAST_STATUS_INDEX).map(({ value }, i) => [Number(value), STATUS_INDEX + i]),
)

function writeStatus(status: number): number {
  const index = statusIndexes.get(status)
  if (index === undefined) return writeField(0, STATUS_NAME, String(status))
  scratch[0] = 0x80 | index
  return 1
}

/** By name as it is given: a literal without indexing up to its value, or nothing where the header must not go out. */
const fieldStarts = new Map<string, Buffer | undefined>()
const KNOWN_LIMIT = 500

function fieldStart(name: string): Buffer | undefined {
  let start = fieldStarts.get(name)
  if (start === undefined && !fieldStarts.has(name)) {
    start = encodeFieldStart(name.toLowerCase())
    if (fieldStarts.size < KNOWN_LIMIT) fieldStarts.set(name, start)
  }
  return start
}

function encodeFieldStart(name: string): Buffer | undefined {
  if (HOP_BY_HOP.has(name) || !TOKEN.test(name)) return undefined
  const index = STATIC_TABLE.findIndex((field) => field.name === name) + 1
  const start = Buffer.alloc(1 + LONGEST_INTEGER_BYTES + name.length)
  let end = writeInteger(start, 0, index, 4)
  if (index === 0) {
    end = writeInteger(start, end, name.length, 7)
    end += start.write(name, end, 'latin1')
  }
  return start.subarray(0, end)
}

function writeField(at: number, start: Buffer, value: string): number {
  growTo(at + start.length + LONGEST_INTEGER_BYTES + value.length * UTF8_BYTES_PER_UNIT)
  const out = scratch
  let end = at
  // Names are short: a call that copies one takes longer.
  for (let i = 0; i < start.length; i++) out[end++] = start[i]!
  const plainEnd = writePlain(out, end, value)
  return plainEnd >= 0 ? plainEnd : writeText(out, end, cleaned(value))
}

const isBlank = (code: number) => code === 0x20
/** Up to here a loop is done before a call would be. */
const SHORT = 48
const NOT_PLAIN = /[^ -~\x80-\xff]/

/** Printable, a byte to a character, as nearly all values are. Less than 0 if it is something else. */
function writePlain(out: Buffer, at: number, value: string): number {
  const { length } = value
  if (isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(length - 1))) return -1
  let end = writeInteger(out, at, length, 7)
  if (length > SHORT) return NOT_PLAIN.test(value) ? -1 : end + out.write(value, end, 'latin1')
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i)
    if (code < 0x20 || code === 0x7f || code > 0xff) return -1
    out[end++] = code
  }
  return end
}

/** Clients refuse answers with control characters in them, or with blanks around a value (RFC 9113, 8.2.1). */
function cleaned(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for.
  return value.replace(/[\0-\x08\x0a-\x1f\x7f]/g, ' ').trim()
}

function writeText(out: Buffer, at: number, value: string): number {
  const end = writeInteger(out, at, Buffer.byteLength(value), 7)
  return end + out.write(value, end)
}

/** RFC 7541, 5.1, with the bits before the prefix zero. */
function writeInteger(out: Buffer, at: number, value: number, prefixBits: number): number {
  const most = (1 << prefixBits) - 1
  if (value < most) {
    out[at] = value
    return at + 1
  }
  out[at] = most
  let end = at + 1
  let rest = value - most
  for (; rest >= 0x80; rest >>>= 7) out[end++] = (rest & 0x7f) | 0x80
  out[end] = rest
  return end + 1
}

/** What was written stays. */
function growTo(bytes: number): void {
  if (bytes <= scratch.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(bytes, scratch.length * 2))
  scratch.copy(larger)
  scratch = larger
}
