import { canonicalQuantity, QUANTITY_FORMAT_MESSAGE } from '../meta/quantity.ts'

/** A value in its canonical form, or why it has none: the words of upstream's decoder. */
export type Decoded = { readonly value: string } | { readonly error: string }

const CACHED_QUANTITIES = 2048
const quantities = new Map<string | number, string>()

/** The canonical form of a quantity. The same few are written again and again, so answers are kept. */
export function decodeQuantity(value: unknown): Decoded {
  if (typeof value !== 'string' && typeof value !== 'number') return { error: QUANTITY_FORMAT_MESSAGE }
  const known = quantities.get(value)
  if (known !== undefined) return { value: known }
  const text = String(value).trim()
  const canonical = canonicalQuantity(text)
  if (canonical === undefined) return { error: whyNoQuantity(text) }
  if (quantities.size >= CACHED_QUANTITIES) quantities.clear()
  if (text.length <= 32) quantities.set(value, canonical)
  return { value: canonical }
}

function whyNoQuantity(text: string): string {
  const number = /^[+-]?[0-9.]+/.exec(text)?.[0]
  if (number === undefined || !/^[eEinumkKMGTP]*[-+]?[0-9]*$/.test(text.slice(number.length)))
    return QUANTITY_FORMAT_MESSAGE
  const isNumeric = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(number)
  return isNumeric ? "unable to parse quantity's suffix" : 'unable to parse numeric part of quantity'
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)([.,]\d+)?(Z|[+-]\d\d:\d\d)$/
const TIME_LAYOUT = '2006-01-02T15:04:05Z07:00'
const MICRO_TIME_LAYOUT = '2006-01-02T15:04:05.000000Z07:00'

const CACHED_TIMES = 256
/** Times that were found to be as the API prints them; the objects of one moment carry the same few. */
const times = new Set<string>()

/** A time as the API prints it: UTC, whole seconds. */
export function decodeTime(text: string): Decoded {
  if (times.has(text)) return { value: text }
  if (text.length === 20 && text.endsWith('Z') && isRealTime(RFC3339.exec(text))) {
    if (times.size >= CACHED_TIMES) times.clear()
    times.add(text)
    return { value: text }
  }
  const match = RFC3339.exec(text)
  if (!isRealTime(match)) return { error: whyNoTime(text, TIME_LAYOUT) }
  const utc = new Date(text.replace(/[.,]\d+/, '')).toISOString()
  return { value: `${utc.slice(0, 19)}Z` }
}

/** The same with microseconds, which are required. */
export function decodeMicroTime(text: string): Decoded {
  const match = RFC3339.exec(text)
  if (!isRealTime(match) || match[7]?.length !== 7) return { error: whyNoTime(text, MICRO_TIME_LAYOUT) }
  const utc = new Date(text.replace(/[.,]\d+/, '')).toISOString()
  return { value: `${utc.slice(0, 19)}.${match[7].slice(1)}Z` }
}

function isRealTime(match: RegExpExecArray | null): match is RegExpExecArray {
  if (match === null) return false
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month) && hour < 24 && minute < 60 && second < 60
}

function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return month === 2 ? (isLeap ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Names the first element of the layout that the text does not have. */
function whyNoTime(text: string, layout: string): string {
  const elements: [pattern: RegExp, name: string][] = [
    [/^\d{4}/, '2006'],
    [/^-/, '-'],
    [/^\d\d/, '01'],
    [/^-/, '-'],
    [/^\d\d/, '02'],
    [/^T/, 'T'],
    [/^\d\d/, '15'],
    [/^:/, ':'],
    [/^\d\d/, '04'],
    [/^:/, ':'],
    [/^\d\d/, '05'],
    ...(layout === MICRO_TIME_LAYOUT ? [[/^[.,]\d{6}/, '.000000'] as [RegExp, string]] : []),
    [/^([.,]\d+)?(Z|[+-]\d\d:\d\d)$/, 'Z07:00'],
  ]
  let rest = text
  for (const [pattern, name] of elements) {
    const found = pattern.exec(rest)
    if (found === null)
      return `parsing time ${quoted(text)} as ${quoted(layout)}: cannot parse ${quoted(rest)} as ${quoted(name)}`
    rest = rest.slice(found[0].length)
  }
  return `parsing time ${quoted(text)}: ${rangeError(text)}`
}

function rangeError(text: string): string {
  const [month, hour, minute, second] = [text.slice(5, 7), text.slice(11, 13), text.slice(14, 16), text.slice(17, 19)]
  if (month < '01' || month > '12') return 'month out of range'
  if (hour > '23') return 'hour out of range'
  if (minute > '59') return 'minute out of range'
  return second > '59' ? 'second out of range' : 'day out of range'
}

const quoted = (text: string) => JSON.stringify(text)

/** Bytes as standard base64. Line breaks inside are allowed and dropped. */
export function decodeBytes(text: string): Decoded {
  if (text.includes('\n') || text.includes('\r')) return decodeBytes(text.replaceAll(/[\r\n]/g, ''))
  const end = text.endsWith('==') ? text.length - 2 : text.endsWith('=') ? text.length - 1 : text.length
  for (let i = 0; i < end; i++) {
    if (!isBase64(text.charCodeAt(i))) return { error: `illegal base64 data at input byte ${i}` }
  }
  if (text.length % 4 === 0) return { value: text }
  return { error: `illegal base64 data at input byte ${end < text.length ? end : text.length - (text.length % 4)}` }
}

const isBase64 = (code: number) =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x30 && code <= 0x39) ||
  code === 0x2b ||
  code === 0x2f
