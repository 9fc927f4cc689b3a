/** Equality of JSON values. A field that is undefined counts as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b)
  if (Array.isArray(b)) return false
  return equalObjects(a as Record<string, unknown>, b as Record<string, unknown>)
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!deepEqual(a[i], b[i])) return false
  return true
}

function equalObjects(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  let fields = 0
  for (const key of Object.keys(a)) {
    if (a[key] === undefined) continue
    fields++
    if (!Object.hasOwn(b, key) || !deepEqual(a[key], b[key])) return false
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined) fields--
  return fields === 0
}
