/** The value of a name, or undefined if there is none. */
export type Lookup = (name: string) => string | undefined

/** Replaces `$(NAME)` by its value; `$$` is a dollar sign; a name nobody knows stays as it was written. */
export function expand(text: string, lookup: Lookup): string {
  if (!text.includes('$')) return text
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) =>
    name === undefined ? '$' : (lookup(name) ?? found),
  )
}

/** Like `expand`, but a name without a value is an error: a path with a hole in it is never meant. */
export function expandStrictly(text: string, lookup: Lookup): string {
  const missing: string[] = []
  const expanded = expand(text, (name) => {
    const value = lookup(name)
    if (!value) missing.push(name)
    return value
  })
  if (missing.length > 0) throw new Error(`missing value for "${missing[0]}"`)
  return expanded
}
