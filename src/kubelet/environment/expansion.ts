/** The value of a name, or undefined if there is none. */
export type Lookup = (name: string) => string | undefined

/** Replaces `$(NAME)` by its value; `$$` is a dollar sign; a name nobody knows stays as it was written. */
export function expand(text: string, lookup: Lookup): string {
  let expanded = ''
  let at = 0
  for (let dollar = text.indexOf('$'); dollar >= 0; dollar = text.indexOf('$', at)) {
    const next = text[dollar + 1]
    const end = next === '(' ? text.indexOf(')', dollar) : dollar + 1
    // Without a closing bracket behind it, nothing that follows is a reference either.
    if (end < 0) return expanded + text.slice(at).replaceAll('$$', () => '$')
    expanded += text.slice(at, dollar)
    if (next === '(') expanded += lookup(text.slice(dollar + 2, end)) ?? text.slice(dollar, end + 1)
    else expanded += '$'
    at = next === '(' || next === '$' ? end + 1 : dollar + 1
  }
  return expanded + text.slice(at)
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
