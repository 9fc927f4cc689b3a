/** Each rule takes the tree and yields problems: { file, line, message }. The message says what to do. */
import path from 'node:path'
import { conformance } from './conformance.mjs'
import { folderProblem } from './folder-order.mjs'
import { importProblem } from './import-rule.mjs'
import { importsOf, lineAt, resolveImport } from './sources.mjs'

const inSrc = (name) => name.startsWith('src/')

function* importRule({ sources, files }) {
  for (const source of sources.filter((entry) => inSrc(entry.name))) {
    for (const found of importsOf(source)) {
      const target = resolveImport(source.name, found.specifier)
      if (target === undefined) continue
      const at = { file: source.name, line: found.line }
      if (!inSrc(target)) {
        if (!source.isTest) yield { ...at, message: `src/ must not import ${target}` }
        continue
      }
      if (!/\.(ts|json)$/.test(target)) yield { ...at, message: `write the extension: '${found.specifier}.ts'` }
      else if (!files.has(target) && !target.includes('/generated/'))
        yield { ...at, message: `${target} does not exist` }
      const message = importProblem(source.name, target, source.isTest)
      if (message) yield { ...at, message }
    }
  }
}

/** Folders of a room import each other in one direction; types count too. Tests may import what they need. */
function* folderOrder({ sources }) {
  for (const source of sources.filter((entry) => inSrc(entry.name) && !entry.isTest)) {
    for (const found of importsOf(source)) {
      const target = resolveImport(source.name, found.specifier)
      const message = target && folderProblem(source.name, target)
      if (message) yield { file: source.name, line: found.line, message }
    }
  }
}

/** Cycles of imports that exist at run time; types may point back. */
function* cycles({ sources }) {
  const graph = new Map()
  for (const source of sources.filter((entry) => inSrc(entry.name) && !entry.isTest)) {
    const targets = importsOf(source).filter((found) => !found.typeOnly && !found.dynamic)
    graph.set(
      source.name,
      targets.map((found) => ({ ...found, to: resolveImport(source.name, found.specifier) })),
    )
  }
  const state = new Map()
  const stack = []
  function* visit(file) {
    state.set(file, 'open')
    stack.push(file)
    for (const edge of graph.get(file) ?? []) {
      if (!graph.has(edge.to)) continue
      if (state.get(edge.to) === 'open') {
        const circle = [...stack.slice(stack.indexOf(edge.to)), edge.to]
        yield {
          file,
          line: edge.line,
          message: `import cycle: ${circle.join(' -> ')}: move what both need to a third file`,
        }
      } else if (!state.has(edge.to)) {
        yield* visit(edge.to)
      }
    }
    stack.pop()
    state.set(file, 'done')
  }
  for (const file of graph.keys()) if (!state.has(file)) yield* visit(file)
}

/** Patterns that must not appear in code (comments and strings do not count). */
const PATTERNS = [
  {
    pattern: /^\s*export\s+default\b|\bexport\s*\{[^}]*\bas\s+default\b/gm,
    applies: (source) => !/\.config\.ts$/.test(source.name),
    message: 'default export: export it by name',
  },
  {
    pattern: /\bDate\.now\(|\bnew Date\(\s*\)|\bset(?:Timeout|Interval)\(|\bMath\.random\(|\bperformance\.now\(/g,
    applies: (source) => inSrc(source.name) && !source.name.startsWith('src/base/') && !source.isTest,
    message: 'time and randomness come in through Clock and Random of src/base: take one as a parameter',
  },
  {
    pattern: /\bas\s+any\b|:\s*any\b(?!\w)|<any>|\bany\[\]|\bas\s+unknown\s+as\s+never\b/g,
    applies: (source) => source.name.endsWith('.ts'),
    message: 'any switches the compiler off: give it a type, or unknown and a check',
  },
  {
    pattern: /\benum\s+\w+\s*\{|\bnamespace[ \t]+\w+[ \t]*\{/g,
    applies: (source) => source.name.endsWith('.ts'),
    message: 'only syntax that can be erased: a union of strings or a const object instead',
  },
]

function* forbiddenPatterns({ sources }) {
  for (const { pattern, applies, message } of PATTERNS) {
    for (const source of sources.filter(applies)) {
      for (const match of source.code.matchAll(pattern)) {
        const offset = match.index + match[0].search(/\S/)
        yield { file: source.name, line: lineAt(source.text, offset), message: `${match[0].trim()}: ${message}` }
      }
    }
  }
}

/** These live in comments, so the text itself is searched. */
function* compilerEscapes({ sources }) {
  const pattern = /@ts-(?:ignore|nocheck|expect-error)|\b(?:TODO|FIXME|XXX|HACK)\b/g
  for (const source of sources.filter((entry) => !entry.name.startsWith('tools/house-rules/'))) {
    for (const match of source.text.matchAll(pattern)) {
      if (source.code.slice(match.index, match.index + match[0].length).trim() !== '') continue
      if (insideString(source, match.index)) continue
      const message = `${match[0]}: finish it, or write an issue; silencing the compiler hides bugs`
      yield { file: source.name, line: lineAt(source.text, match.index), message }
    }
  }
}

/** Blanked text that is no comment was a string. */
function insideString(source, offset) {
  const line = source.text.slice(source.text.lastIndexOf('\n', offset) + 1, offset)
  return !/\/\/|\/\*|^\s*\*/.test(line)
}

const VAGUE = /(?:^|-)(?:utils?|helpers?|managers?|impl|misc|common|stuff)(?:-|\.|$)/
const VAGUE_TYPE = /\b(?:class|interface|type)\s+(\w*(?:Manager|Helper|Util|Utils|Impl))\b/g

function* vagueNames({ sources, folders }) {
  const message = (name) => `${name} says nothing: name it for what it does, in a Kubernetes word if there is one`
  for (const folder of folders.filter((name) => VAGUE.test(path.posix.basename(name)))) {
    yield { file: folder, line: 1, message: message(path.posix.basename(folder)) }
  }
  for (const source of sources) {
    const base = path.posix.basename(source.name)
    if (VAGUE.test(base)) yield { file: source.name, line: 1, message: message(base) }
    if (!/^[a-z0-9.-]+$/.test(base)) yield { file: source.name, line: 1, message: `${base}: file names are kebab-case` }
    for (const match of source.code.matchAll(VAGUE_TYPE)) {
      yield { file: source.name, line: lineAt(source.text, match.index), message: message(match[1]) }
    }
  }
}

export const LONGEST_FILE = 400

function* longFiles({ sources }) {
  for (const source of sources.filter((entry) => !entry.isTest)) {
    const lines = source.text.split('\n').length - 1
    if (lines <= LONGEST_FILE) continue
    yield {
      file: source.name,
      line: LONGEST_FILE,
      message: `${lines} lines: split it, ${LONGEST_FILE} is the limit and 200 the aim`,
    }
  }
}

/** Every room of src/ explains itself. */
function* readmes({ folders, files }) {
  for (const folder of folders.filter((name) => /^src\/[^/]+$/.test(name))) {
    const hasFiles = [...files].some((file) => file.startsWith(`${folder}/`))
    if (!hasFiles || files.has(`${folder}/README.md`)) continue
    yield { file: folder, line: 1, message: 'has no README.md: purpose, the path through its files, how to add one' }
  }
}

/** What the package exports. */
const PACKAGE_ENTRIES = new Set(['src/cluster/index.ts', 'src/testing/index.ts'])

/** A file that only re-exports hides where things are; the package's entries are the ones allowed. */
function* barrels({ sources }) {
  for (const source of sources.filter((entry) => inSrc(entry.name) && !PACKAGE_ENTRIES.has(entry.name))) {
    if (path.posix.basename(source.name) === 'index.ts') {
      yield { file: source.name, line: 1, message: 'no barrels: import the file that has the thing' }
    }
  }
}

/** A label, annotation, taint or the like of Kubernetes that two files write has one home. */
function* wellKnownNames({ sources }) {
  const places = new Map()
  for (const source of sources.filter((entry) => inSrc(entry.name) && !entry.isTest)) {
    for (const match of source.text.matchAll(/'((?:[a-z0-9.-]*\.)?(?:kubernetes|k8s)\.io\/[a-zA-Z0-9._-]+)'/g)) {
      if (/\/v\d\w*$/.test(match[1])) continue
      const at = { file: source.name, line: lineAt(source.text, match.index) }
      places.set(match[1], [...(places.get(match[1]) ?? []), at])
    }
  }
  for (const [name, found] of places) {
    if (new Set(found.map(({ file }) => file)).size < 2) continue
    for (const at of found)
      yield { ...at, message: `'${name}' stands in several files: use src/api/meta/well-known.ts` }
  }
}

export const RULES = {
  importRule,
  folderOrder,
  cycles,
  forbiddenPatterns,
  compilerEscapes,
  vagueNames,
  longFiles,
  readmes,
  barrels,
  wellKnownNames,
  conformance,
}

export function problemsOf(tree) {
  return Object.entries(RULES).flatMap(([rule, check]) => [...check(tree)].map((problem) => ({ rule, ...problem })))
}
