/**
 * docs/conformance.md says which test holds which behaviour of the conformance suite. Each row that is held names a file
 * and words of it: the title of a test, or a row of its table. So the page cannot stay when a test goes or is renamed.
 */
const ALL = 446
const ROW = /^\| ([a-z-]+) \| (.+) \| (.+) \|$/
const HELD = /^`([^`]+)`: (.+)$/
const FILE = 'docs/conformance.md'

export function* conformance({ conformance, sources }) {
  if (conformance === undefined) return
  const texts = new Map(sources.map(({ name, text }) => [name, text]))
  const seen = new Set()
  let isHeld = true
  for (const [index, text] of conformance.split('\n').entries()) {
    const at = { file: FILE, line: index + 1 }
    if (text.startsWith('## ')) isHeld = text !== '## Not held yet'
    const [, area, behaviour, test] = ROW.exec(text) ?? []
    if (area === undefined || area === 'area') continue
    if (seen.has(`${area} ${behaviour}`)) yield { ...at, message: `${behaviour} stands here twice` }
    seen.add(`${area} ${behaviour}`)
    const message = isHeld && problemOf(test, texts)
    if (message) yield { ...at, message }
  }
  if (seen.size !== ALL)
    yield { file: FILE, line: 1, message: `there are ${ALL} behaviours, and rows for ${seen.size}` }
}

function problemOf(test, texts) {
  const [, file, words] = HELD.exec(test) ?? []
  if (file === undefined) return 'name the test: `file`: title'
  const text = texts.get(`tests/${file}`) ?? texts.get(file)
  if (text === undefined) return `${file} does not exist`
  return text.includes(words) ? undefined : `${file} has no test «${words}»`
}
