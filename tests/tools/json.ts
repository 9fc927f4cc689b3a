/** A JSON document as a test meets it: what is inside is found by path. */
export interface Json {
  [field: string]: unknown
}

/** Reads `spec.ports.0.name`; undefined where nothing stands. A key that has dots itself is written `[a.b/c]`. */
export function at(value: unknown, path: string): unknown {
  let current = value
  for (const [, bracketed, plain] of path.matchAll(/\[([^\]]+)\]|([^.[\]]+)/g)) {
    if (typeof current !== 'object' || current === null) return undefined
    current = (current as Json)[(bracketed ?? plain) as string]
  }
  return current
}

/** The same for what must be a string, as names and versions are. */
export function textAt(value: unknown, path: string): string {
  const found = at(value, path)
  if (typeof found !== 'string') throw new Error(`no text at ${path} in ${JSON.stringify(value).slice(0, 500)}`)
  return found
}

/** The same for a list. */
export function listAt(value: unknown, path: string): Json[] {
  const found = at(value, path)
  if (!Array.isArray(found)) throw new Error(`no list at ${path} in ${JSON.stringify(value).slice(0, 500)}`)
  return found as Json[]
}
