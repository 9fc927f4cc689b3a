/** The files the rules are about, read once, and what can be seen in a file without a compiler. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

const SKIPPED = new Set(['node_modules', 'dist', 'generated', '.git', '.cache'])

function* walk(root, folder) {
  if (!existsSync(path.join(root, folder))) return
  for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
    if (SKIPPED.has(entry.name)) continue
    const name = `${folder}/${entry.name}`
    if (entry.isDirectory()) {
      yield { name, isFolder: true }
      yield* walk(root, name)
    } else {
      yield { name, isFolder: false }
    }
  }
}

const CODE = /\.(ts|mts|mjs|js)$/

/** A source file: its path from the root, its text, and its text without comments and string contents. */
export function sourceOf(name, text) {
  return {
    name,
    text,
    code: blank(text),
    isTest:
      /\.(test|contract|support|fixture)\.(ts|mjs)$/.test(name) ||
      name.startsWith('tests/') ||
      name.startsWith('bench/'),
  }
}

export function readTree(root, folders = ['src', 'tests', 'bench', 'tools', 'examples']) {
  const entries = folders.flatMap((folder) => [...walk(root, folder)])
  const files = entries.filter((entry) => !entry.isFolder)
  return {
    conformance: readFileSync(path.join(root, 'docs', 'conformance.md'), 'utf8'),
    folders: entries.filter((entry) => entry.isFolder).map((entry) => entry.name),
    files: new Set(files.map((entry) => entry.name)),
    sources: files
      .filter((entry) => CODE.test(entry.name))
      .map((entry) => sourceOf(entry.name, readFileSync(path.join(root, entry.name), 'utf8'))),
  }
}

/** Replaces comments, and what stands inside quotes, by spaces; offsets and lines stay. */
export function blank(text) {
  const spaces = (match) => match.replace(/[^\n]/g, ' ')
  const pattern =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[=(,:;!&|?{}[\n]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g
  return text.replace(pattern, spaces)
}

export const lineAt = (text, offset) => text.slice(0, offset).split('\n').length

const IMPORT =
  /^[ \t]*(?:import|export)\b(?:[^'"`;()]*?\bfrom)?\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm

/** Every import of a file: what it names, whether only types cross, whether it runs later, and where it stands. */
export function importsOf(source) {
  const found = []
  for (const match of source.text.matchAll(IMPORT)) {
    const keyword = source.code.slice(match.index, match.index + match[0].length)
    if (!/\b(import|export)\b/.test(keyword)) continue
    found.push({
      specifier: match[1] ?? match[2],
      typeOnly: /^\s*(import|export)\s+type\b/.test(match[0]),
      dynamic: match[2] !== undefined,
      line: lineAt(source.text, match.index + match[0].search(/\S/)),
    })
  }
  return found
}

/** The path from the root that a relative import means. */
export const resolveImport = (from, specifier) =>
  specifier.startsWith('.') ? path.posix.normalize(path.posix.join(path.posix.dirname(from), specifier)) : undefined
