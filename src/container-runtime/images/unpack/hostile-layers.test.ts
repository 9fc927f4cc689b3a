/** Layers that try to reach a folder of the host. It must be the same afterwards, whether the layer is refused or not. */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { removeTree } from '../../../linux/remove-tree.ts'
import { DEFAULT_LIMITS } from '../limits.ts'
import { LayerTree } from './layer-tree.ts'
import type { PrivilegedFiles } from './privileged-files.ts'
import { type TestEntry, testTar } from './tar-entries.contract.ts'
import { unpackLayer } from './unpack-layer.ts'

let scratch: string
let canary: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'hostile-'))
  canary = path.join(scratch, 'canary')
  mkdirSync(path.join(canary, 'victim'), { recursive: true, mode: 0o711 })
  writeFileSync(path.join(canary, 'victim', 'file'), 'untouched', { mode: 0o640 })
  for (const place of ['victim/file', 'victim', '.']) utimesSync(path.join(canary, place), 1, 1)
})
afterEach(() => removeTree(scratch))

const shown = (place: string) => {
  const { mode, uid, gid, mtimeMs, nlink } = lstatSync(path.join(canary, place))
  return { mode, uid, gid, mtimeMs, nlink }
}
const state = () => ({
  names: readdirSync(canary, { recursive: true }),
  text: readFileSync(path.join(canary, 'victim', 'file'), 'utf8'),
  attributes: ['.', 'victim', 'victim/file'].map(shown),
})

const marks: string[] = []
const files: PrivilegedFiles = {
  async mknod(place) {
    writeFileSync(place, '', { flag: 'wx' })
  },
  async setxattr(place, name) {
    marks.push(`${name} ${lstatSync(place).ino}`)
  },
}

async function* chunksOf(tar: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < tar.length; at += 700) yield tar.subarray(at, at + 700)
}

/** Unpacks each layer above those before it; the first that is refused is the error. Returns their folders. */
async function unpackAll(layers: readonly Buffer[], limits = {}): Promise<string[]> {
  const done: { root: string; opaque: ReadonlySet<string> }[] = []
  for (const [i, tar] of layers.entries()) {
    const root = path.join(scratch, `layer-${i}`)
    const removed = path.join(scratch, `removed-${i}`)
    for (const folder of [root, removed]) mkdirSync(folder)
    using tree = new LayerTree({ root, removed, lowers: done, flat: false, files, opaqueAttribute: 'user.opaque' })
    await unpackLayer(chunksOf(tar), { tree, files, limits: { ...DEFAULT_LIMITS, ...limits } })
    done.unshift({ root, opaque: new Set(tree.opaque()) })
  }
  return done.map(({ root }) => root).reverse()
}

const folder = (name: string, mode = 0o777): TestEntry => ({ name: `${name}/`, type: '5', mode, uid: 1, gid: 1 })
const link = (name: string, to: string): TestEntry => ({ name, type: '2', link: to })
const hardLink = (name: string, to: string): TestEntry => ({ name, type: '1', link: to })
const file = (name: string, more: Partial<TestEntry> = {}): TestEntry => ({ name, data: 'evil', mode: 0o666, ...more })
/** With names that do not fit a header. */
const long = (entry: TestEntry): TestEntry => ({
  ...entry,
  name: 'long',
  pax: { path: entry.name, ...(entry.link && { linkpath: entry.link }) },
})
const xattr = { 'SCHILY.xattr.user.evil': 'x' }

/** Entries of each layer; `to` is the folder outside. */
const attacks: [string, (to: string) => TestEntry[][]][] = [
  ['a folder that becomes a link', (to) => [[folder('a'), folder('a/victim'), link('a', to)]]],
  [
    'a folder that becomes a link, and is named again',
    (to) => [[folder('a'), folder('a/victim'), link('a', to), folder('a/victim')]],
  ],
  ['an implied folder that becomes a link', (to) => [[file('a/victim/x'), link('a', to)]]],
  [
    'a folder below that becomes a link',
    (to) => [
      [folder('a'), folder('a/victim')],
      [file('a/victim/x'), link('a', to)],
    ],
  ],
  ['a link of the layer below', (to) => [[link('a', to)], [folder('a/victim'), file('a/victim/file')]]],
  ['a folder over a link of the layer below', (to) => [[link('a', to)], [folder('a'), folder('a/victim')]]],
  [
    'a link over a folder, a folder over that link',
    (to) => [
      [folder('a/victim'), file('a/victim/file')],
      [link('a', to)],
      [folder('a/victim'), file('a/victim/file'), hardLink('b', 'a/victim/file')],
    ],
  ],
  [
    'a link inside a folder that is hidden',
    (to) => [[link('a/l', to)], [file('a/.wh..wh..opq', { data: '' }), file('a/l/victim/file')]],
  ],
  [
    'whiteouts through a link',
    (to) => [
      [link('a', to), link('b', `${to}/victim`)],
      [file('a/.wh.victim', { data: '' }), file('b/.wh..wh..opq', { data: '' })],
    ],
  ],
  ['a hard link to a link', (to) => [[link('a', `${to}/victim/file`), hardLink('b', 'a'), file('b')]]],
  ['a hard link to a link, and files through it', (to) => [[link('a', to), hardLink('b', 'a'), file('b/victim/file')]]],
  ['a hard link through a link of the layer below', (to) => [[link('a', to)], [hardLink('b', 'a/victim/file')]]],
  [
    'a hard link to a link of the layer below',
    (to) => [[link('a', `${to}/victim/file`)], [hardLink('b', 'a'), file('b')]],
  ],
  [
    'a name of changing types',
    (to) => [
      [
        folder('a'),
        link('a', to),
        file('a'),
        link('a', `${to}/victim`),
        folder('a'),
        link('a', to),
        folder('a/victim'),
      ],
    ],
  ],
  ['a root that is a link', (to) => [[link('.', to), link('./', to), folder('.')]]],
  [
    'extended attributes by a link',
    (to) => [
      [folder('a'), { ...folder('a/victim'), pax: xattr }, link('a', to), { ...link('b', `${to}/victim`), pax: xattr }],
    ],
  ],
  [
    'a device, a pipe and a socket by a link',
    (to) => [[link('a', to), { name: 'a/p', type: '6' }, { name: 'a/d', type: '3', major: 1, minor: 3 }]],
  ],
  ['times by a link', (to) => [[link('a', `${to}/victim/file`), { ...link('a', `${to}/victim`), mtime: 7 }]]],
]

describe('the host is untouched by', () => {
  test.each(attacks)('%s', async (_name, layersOf) => {
    const before = state()
    for (const to of [
      canary,
      path.relative('/', canary),
      `../../../../../../../..${canary}`,
      `/proc/self/root${canary}`,
    ]) {
      for (const name of readdirSync(scratch))
        if (name !== 'canary') rmSync(path.join(scratch, name), { recursive: true })
      await unpackAll(layersOf(to).map((entries) => testTar(entries))).catch((error) => {
        expect(error).toMatchObject({ name: 'RuntimeError' })
      })
      expect(state()).toEqual(before)
    }
  })
})

describe('a layer is refused', () => {
  const deep = 'd/'.repeat(1000)
  test.each<[string, TestEntry[]]>([
    [
      'with folders deeper than any path',
      [folder(deep), link('l', deep), folder(`l/${deep}`), link('m', `l/${deep}`), folder(`m/${deep}`)].map(long),
    ],
    ['with a name longer than a file system takes', [file('a', { pax: { path: 'n'.repeat(300) } })]],
    ['with a hard link into the folder that it replaces', [folder('a'), file('a/f'), hardLink('a', 'a/f')]],
    [
      'with links that make a path long',
      [
        ...Array.from({ length: 30 }, (_, i) => long(link(`l${i}`, `${'x/../'.repeat(40)}l${i + 1}`))),
        folder('x'),
        folder('l30'),
        file('l0/f'),
      ],
    ],
    [
      'with more attributes than a file can have',
      [file('a', { pax: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`SCHILY.xattr.user.a${i}`, 'x'])) })],
    ],
    [
      'with header after header',
      [
        ...Array.from({ length: 40 }, (_, i) => ({
          name: 'p',
          type: 'x',
          data: record(`SCHILY.xattr.user.${i}`, 'x'.repeat(50_000)),
        })),
        file('a'),
      ],
    ],
  ])('%s', async (_name, entries) => {
    await expect(unpackAll([testTar(entries)])).rejects.toMatchObject({ name: expect.stringMatching(/Error$/) })
  })

  test('records of no use are not kept', async () => {
    const useless = {
      name: 'p',
      type: 'x',
      data: Array.from({ length: 5000 }, (_, i) => record(`k${i}`, 'v')).join(''),
    }
    const [root] = await unpackAll([testTar([...Array.from({ length: 50 }, () => useless), file('a')])])
    expect(readFileSync(path.join(root!, 'a'), 'utf8')).toBe('evil')
  })
})

function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  let length = rest.length + String(rest.length).length
  if (rest.length + String(length).length !== length) length++
  return `${length}${rest}`
}
