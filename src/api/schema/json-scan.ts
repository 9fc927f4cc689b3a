export interface JsonScan {
  /** How many `key:` pairs the text has; a parsed object with fewer keys lost some that came twice. */
  readonly keys: number
  readonly depth: number
  /** A number has an exponent or very many digits, so it may be too large to be one. */
  readonly hasLongNumber: boolean
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const NINE = 0x39
const COMMA = 0x2c
const BRACE = 0x7b
/** The largest numbers have 309 digits. */
const LONG_NUMBER = 300

/** Counts keys and the depth of nesting, and looks at numbers, without parsing. Means nothing if the text is not JSON. */
export function scanJson(bytes: Uint8Array): JsonScan {
  let keys = 0
  let depth = 0
  let deepest = 0
  let hasLongNumber = false
  const length = bytes.length
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) {
      for (i++; i < length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++
    } else if (byte === COLON) keys++
    // 0x5b [ and 0x7b {, 0x5d ] and 0x7d } differ in one bit.
    else if ((byte | 0x20) === 0x7b) {
      if (++depth > deepest) deepest = depth
    } else if ((byte | 0x20) === 0x7d) depth--
    else if (byte <= NINE && byte >= 0x30) {
      const start = i
      while (i + 1 < length && bytes[i + 1]! <= NINE && bytes[i + 1]! >= 0x30) i++
      // 0x65 e, also large.
      if (i - start >= LONG_NUMBER || (bytes[i + 1]! | 0x20) === 0x65) hasLongNumber = true
    }
  }
  return { keys, depth: deepest, hasLongNumber }
}

/** The number of keys of a value and all below it. */
export function countKeys(value: object): number {
  let keys = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) keys += countKeys(item)
    return keys
  }
  for (const key in value) {
    keys++
    const child = (value as Record<string, unknown>)[key]
    if (typeof child === 'object' && child !== null) keys += countKeys(child)
  }
  return keys
}

/** An object with more keys is a hash table to the engine: each key costs every step several times as much. */
export const MANY_KEYS = 1000
export const KEY_WEIGHT = 10

/** What the entries of one object or list weigh. */
export const weightOf = (entries: number, isObject: boolean): number =>
  isObject && entries > MANY_KEYS ? entries * KEY_WEIGHT : entries

/**
 * How much work a JSON text makes: its fields and items, where those of a large map count more. Means nothing if the text
 * is no JSON. The depth is that of `scanJson`.
 */
export function weighJson(bytes: Uint8Array, depth: number): number {
  const entries = new Uint32Array(depth + 1)
  const isObject = new Uint8Array(depth + 1)
  const length = bytes.length
  let weight = 0
  let at = 0
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) {
      for (i++; i < length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++
    } else if (byte === COMMA) entries[at]!++
    else if ((byte | 0x20) === 0x7b) {
      at++
      entries[at] = 1
      isObject[at] = byte === BRACE ? 1 : 0
    } else if ((byte | 0x20) === 0x7d && at > 0) {
      weight += weightOf(entries[at]!, isObject[at] === 1)
      at--
    }
  }
  return weight
}

/** The same of a value. */
export function weigh(value: object): number {
  const isList = Array.isArray(value)
  const children: readonly unknown[] = isList ? value : Object.values(value)
  let weight = weightOf(Math.max(1, children.length), !isList)
  for (const child of children) if (typeof child === 'object' && child !== null) weight += weigh(child)
  return weight
}
