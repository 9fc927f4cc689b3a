/** Longer values are cut: many errors may show the same large value. */
const LIMIT = 4096

/** A value as error messages show it: JSON, cut where it is long. The work is limited too. */
export function shown(value: unknown): string {
  if (value === undefined) return 'null'
  if (typeof value === 'string')
    return value.length <= LIMIT ? JSON.stringify(value) : `${JSON.stringify(value.slice(0, LIMIT))}...`
  if (typeof value !== 'object') return JSON.stringify(value)
  const text = jsonStart(value)
  return text.length <= LIMIT ? text : `${text.slice(0, LIMIT)}...`
}

/** The JSON of a value, or a part of it that is longer than the limit. */
function jsonStart(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, LIMIT + 1))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const isList = Array.isArray(value)
  let text = isList ? '[' : '{'
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key]
    if (child === undefined && !isList) continue
    if (text.length > 1) text += ','
    if (!isList) text += `${jsonStart(key)}:`
    text += jsonStart(child)
    if (text.length > LIMIT) return text
  }
  return text + (isList ? ']' : '}')
}
