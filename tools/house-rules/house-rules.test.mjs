import { describe, expect, test } from 'vitest'
import { problemsOf } from './rules.mjs'
import { sourceOf } from './sources.mjs'

/** A tree of these files, each room with its README. */
function treeOf(files) {
  const names = Object.keys(files)
  const rooms = new Set(
    names.filter((name) => name.startsWith('src/')).map((name) => name.split('/').slice(0, 2).join('/')),
  )
  const folders = new Set(
    names.flatMap((name) =>
      name
        .split('/')
        .slice(0, -1)
        .map((_, i, parts) => parts.slice(0, i + 1).join('/')),
    ),
  )
  return {
    folders: [...folders],
    files: new Set([...names, ...[...rooms].map((room) => `${room}/README.md`)]),
    sources: names.filter((name) => /\.(ts|mjs)$/.test(name)).map((name) => sourceOf(name, files[name])),
  }
}

const broken = (files) => problemsOf(treeOf(files)).map(({ rule, file, line }) => `${rule} ${file}:${line}`)

const long = 'const line = 1\n'.repeat(401)

const CASES = [
  [
    'a component imports api',
    { 'src/scheduler/a.ts': "import { x } from '../api/meta/b.ts'\n", 'src/api/meta/b.ts': '' },
    [],
  ],
  [
    'components import each other',
    { 'src/scheduler/a.ts': "\nimport { x } from '../controllers/b.ts'\n", 'src/controllers/b.ts': '' },
    ['importRule src/scheduler/a.ts:2'],
  ],
  [
    'base imports api',
    { 'src/base/a.ts': "import type { X } from '../api/b.ts'\n", 'src/api/b.ts': '' },
    ['importRule src/base/a.ts:1'],
  ],
  [
    'a private folder of another room',
    { 'src/cli/a.ts': "import { x } from '../store/embedded/b.ts'\n", 'src/store/embedded/b.ts': '' },
    ['importRule src/cli/a.ts:1'],
  ],
  [
    'an own subfolder',
    { 'src/store/a.ts': "import { x } from './embedded/b.ts'\n", 'src/store/embedded/b.ts': '' },
    [],
  ],
  [
    'a folder imports one that stands before it in its room',
    {
      'src/apiserver/registry/a.ts': "import type { X } from '../admission/b.ts'\n",
      'src/apiserver/admission/b.ts': '',
    },
    [],
  ],
  [
    'a folder imports one that stands after it in its room, even for a type',
    {
      'src/apiserver/admission/a.ts': "import type { X } from '../registry/b.ts'\n",
      'src/apiserver/registry/b.ts': '',
    },
    ['folderOrder src/apiserver/admission/a.ts:1'],
  ],
  [
    'folders of equal rank import each other',
    { 'src/store/etcd/a.ts': "import { x } from '../embedded/b.ts'\n", 'src/store/embedded/b.ts': '' },
    ['folderOrder src/store/etcd/a.ts:1'],
  ],
  [
    'a folder that the list does not have',
    { 'src/cli/attic/a.ts': "import { x } from '../printing/b.ts'\n", 'src/cli/printing/b.ts': '' },
    ['folderOrder src/cli/attic/a.ts:1'],
  ],
  [
    'a label of Kubernetes that two files write',
    { 'src/base/a.ts': "const a = 'kubernetes.io/b'\n", 'src/base/c.ts': "\nconst d = 'kubernetes.io/b'\n" },
    ['wellKnownNames src/base/a.ts:1', 'wellKnownNames src/base/c.ts:2'],
  ],
  [
    'a label of Kubernetes that one file writes twice, and a group version',
    {
      'src/base/a.ts': "const a = ['kubernetes.io/b', 'kubernetes.io/b', 'x.k8s.io/v1']\n",
      'src/base/c.ts': "const d = 'x.k8s.io/v1'\n",
    },
    [],
  ],
  [
    'a room nobody knows',
    { 'src/attic/a.ts': "import { x } from '../base/b.ts'\n", 'src/base/b.ts': '' },
    ['importRule src/attic/a.ts:1'],
  ],
  [
    'an import that is not there',
    { 'src/base/a.ts': "import { x } from './gone.ts'\n" },
    ['importRule src/base/a.ts:1'],
  ],
  [
    'a dynamic private import',
    { 'src/cli/a.ts': "await import('../store/etcd/b.ts')\n", 'src/store/etcd/b.ts': '' },
    ['importRule src/cli/a.ts:1'],
  ],
  [
    'an import over several lines',
    { 'src/base/a.ts': "import {\n  x,\n} from '../api/b.ts'\n", 'src/api/b.ts': '' },
    ['importRule src/base/a.ts:1'],
  ],
  ['an import in a comment', { 'src/base/a.ts': "// import { x } from '../api/b.ts'\n" }, []],
  [
    'a cycle',
    { 'src/base/a.ts': "import { b } from './b.ts'\n", 'src/base/b.ts': "import { a } from './a.ts'\n" },
    ['cycles src/base/b.ts:1'],
  ],
  [
    'types may point back',
    { 'src/base/a.ts': "import type { B } from './b.ts'\n", 'src/base/b.ts': "import { a } from './a.ts'\n" },
    [],
  ],
  ['a default export', { 'src/base/a.ts': 'export default 1\n' }, ['forbiddenPatterns src/base/a.ts:1']],
  ['Date.now in a component', { 'src/api/a.ts': 'const t = Date.now()\n' }, ['forbiddenPatterns src/api/a.ts:1']],
  ['Date.now in base', { 'src/base/a.ts': 'const t = Date.now()\n' }, []],
  ['Date.now in a test', { 'src/api/a.test.ts': 'const t = Date.now()\n' }, []],
  ['Date.now in a string', { 'src/api/a.ts': "const t = 'Date.now()'\n" }, []],
  ['a date from a number', { 'src/api/a.ts': 'const t = new Date(5)\n' }, []],
  ['setTimeout', { 'src/client/a.ts': '\n\nsetTimeout(f, 1)\n' }, ['forbiddenPatterns src/client/a.ts:3']],
  ['as any', { 'src/api/a.ts': 'const t = x as any\n' }, ['forbiddenPatterns src/api/a.ts:1']],
  ['a parameter of any', { 'tests/a.ts': 'function f(x: any) {}\n' }, ['forbiddenPatterns tests/a.ts:1']],
  ['the word any', { 'src/api/a.ts': "const t = 'as any' // as any: any\nconst company = { many: 1 }\n" }, []],
  ['an enum', { 'src/api/a.ts': 'enum A { B }\n' }, ['forbiddenPatterns src/api/a.ts:1']],
  ['ts-ignore', { 'src/api/a.ts': '// @ts-' + 'ignore\nf()\n' }, ['compilerEscapes src/api/a.ts:1']],
  ['a vague file', { 'src/api/string-utils.ts': '' }, ['vagueNames src/api/string-utils.ts:1']],
  ['a vague folder', { 'src/api/helpers/a.ts': '' }, ['vagueNames src/api/helpers:1']],
  ['a vague class', { 'src/api/a.ts': 'export class PodManager {}\n' }, ['vagueNames src/api/a.ts:1']],
  ['a camel-case file', { 'src/api/podSpec.ts': '' }, ['vagueNames src/api/podSpec.ts:1']],
  ['a long file', { 'src/api/a.ts': long }, ['longFiles src/api/a.ts:400']],
  ['a long test', { 'src/api/a.test.ts': long }, []],
  ['a barrel', { 'src/api/index.ts': '' }, ['barrels src/api/index.ts:1']],
]

describe('house rules', () => {
  test.each(CASES)('%s', (_name, files, expected) => {
    expect(broken(files)).toEqual(expected)
  })

  test('a room without README', () => {
    const tree = treeOf({ 'src/api/a.ts': '' })
    tree.files.delete('src/api/README.md')
    expect(problemsOf(tree).map(({ rule }) => rule)).toEqual(['readmes'])
  })

  const rows = (count) => Array.from({ length: count }, (_, i) => `| apps | Row ${i} | \`e2e/a.test.ts\`: works |`)
  const page = (...lines) => ['| area | behaviour | test |', '|---|---|---|', ...lines].join('\n')
  const gone = '| node | Gone | `e2e/b.test.ts`: works |'
  test.each([
    ['all there', page(...rows(446)), []],
    ['one too few', page(...rows(445)), ['there are 446 behaviours, and rows for 445']],
    ['one twice', page(...rows(446), rows(1)[0]), ['Row 0 stands here twice']],
    ['no such file', page(...rows(445), gone), ['e2e/b.test.ts does not exist']],
    [
      'no such test',
      page(...rows(445), gone.replace('b.test', 'a.test').replace('works', 'flies')),
      ['e2e/a.test.ts has no test «flies»'],
    ],
    ['no test named', page(...rows(445), '| node | Gone | somewhere |'), ['name the test: `file`: title']],
    ['not held yet', page(...rows(445), '## Not held yet', '| node | Gone | somebody |'), []],
  ])('the page of conformance: %s', (_name, conformance, expected) => {
    const tree = { ...treeOf({ 'tests/e2e/a.test.ts': "test('works')" }), conformance }
    expect(problemsOf(tree).map(({ message }) => message)).toEqual(expected)
  })
})
