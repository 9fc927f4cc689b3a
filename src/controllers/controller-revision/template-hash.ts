const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

/**
 * A short name for a value, the same for equal values whatever the order of their fields. `collisions` gives another
 * name when the first one is taken by something else.
 */
export function templateHash(value: unknown, collisions = 0): string {
  const hash = fnv1a(`${canonicalJson(value)}${collisions > 0 ? collisions : ''}`)
  // Letters without vowels and look-alikes, as in generated names: no hash spells a word.
  return String(hash).replace(/\d/g, (digit) => ALPHABET[(digit.charCodeAt(0) * 7) % ALPHABET.length]!)
}

/** JSON with sorted fields; what is undefined or null is left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = value as Record<string, unknown>
  const keys = Object.keys(fields).filter((key) => fields[key] !== undefined && fields[key] !== null)
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(fields[key])}`)
    .join()}}`
}

/** FNV-1a, 32 bits, over the UTF-16 units. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
