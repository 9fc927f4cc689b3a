/** Variables that a container left in a file for others: `NAME='text'`, where the text may span lines. */

const NAME = /[^=\s#'"]+(?==')/y
const SKIPPED = /\s+|#[^\n]*/y
const REST_OF_LINE = /[^\S\n]*(?:#[^\n]*)?(?:\n|$)/y

export function parseEnvFile(text: string): Map<string, string> {
  const variables = new Map<string, string>()
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  for (;;) {
    while (take(SKIPPED) !== undefined);
    if (at >= text.length) return variables
    const start = at
    const line = () => text.slice(0, start).split('\n').length
    const name = take(NAME)
    if (name === undefined) throw new Error(`line ${line()}: want NAME='value'`)
    const begin = at + 2
    const end = text.indexOf("'", begin)
    if (end < 0) throw new Error(`line ${line()}: the value of ${name} has no closing quote`)
    variables.set(name, text.slice(begin, end))
    at = end + 1
    if (take(REST_OF_LINE) === undefined) throw new Error(`line ${line()}: unexpected text after the value of ${name}`)
  }
}
