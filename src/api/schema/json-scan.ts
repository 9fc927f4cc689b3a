export interface JsonScan {
  /** How many `key:` pairs the text has; a parsed object with fewer keys lost some that came twice. */
  readonly keys: number
  readonly depth: number
  /** A number has an exponent or very many digits, so it may be too large to be one. */
  readonly hasLongNumber: boolean
  /** How many entries all objects and lists have together, where an empty one counts as one too. */
  readonly values: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const NINE = 0x39
const COMMA = 0x2c
/** The largest numbers have 309 digits. */
const LONG_NUMBER = 300

/** Counts keys, entries and the depth of nesting, and looks at numbers, without parsing. Means nothing if the text is not JSON. */
export function scanJson(bytes: Uint8Array): JsonScan {
  let keys = 0
  let depth = 0
  let deepest = 0
  let hasLongNumber = false
  let values = 0
  const length = bytes.length
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) {
      for (i++; i < length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++
    } else if (byte === COLON) keys++
    else if (byte === COMMA) values++
    // 0x5b [ and 0x7b {, 0x5d ] and 0x7d } differ in one bit.
    else if ((byte | 0x20) === 0x7b) {
      values++
      if (++depth > deepest) deepest = depth
    } else if ((byte | 0x20) === 0x7d) depth--
    else if (byte <= NINE && byte >= 0x30) {
      const start = i
      while (i + 1 < length && bytes[i + 1]! <= NINE && bytes[i + 1]! >= 0x30) i++
      // 0x65 e, also large.
      if (i - start >= LONG_NUMBER || (bytes[i + 1]! | 0x20) === 0x65) hasLongNumber = true
    }
  }
  return { keys, depth: deepest, values, hasLongNumber }
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

/** How many entries a value and all below it have, counted as `scanJson` counts them. */
export function countValues(value: object): number {
  let values = 1
  let isFirst = true
  for (const child of Array.isArray(value) ? value : Object.values(value)) {
    if (!isFirst) values++
    isFirst = false
    if (typeof child === 'object' && child !== null) values += countValues(child)
  }
  return values
}
