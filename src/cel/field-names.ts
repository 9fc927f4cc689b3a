const ESCAPES: Readonly<Record<string, string>> = { underscores: '__', dot: '.', dash: '-', slash: '/' }
const KEYWORDS = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** The name of a field that an expression had to write in another way: `foo__dash__bar` is `foo-bar`. */
export function unescapeField(name: string): string {
  if (!name.includes('__')) return name
  const keyword = /^__(\w+)__$/.exec(name)?.[1]
  if (keyword !== undefined && KEYWORDS.has(keyword)) return keyword
  return name.replace(/__(underscores|dot|dash|slash)__/g, (_, word: string) => ESCAPES[word]!)
}
