import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Folder } from './folder.ts'
import { removeTree } from './remove-tree.ts'

let scratch: string
let tree: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'remove-tree-'))
  tree = path.join(scratch, 'tree')
  mkdirSync(tree)
  mkdirSync(path.join(scratch, 'canary'))
  writeFileSync(path.join(scratch, 'canary', 'file'), 'untouched')
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

async function expectRemoved() {
  await removeTree(tree)
  expect(readdirSync(scratch)).toEqual(['canary'])
  expect(readFileSync(path.join(scratch, 'canary', 'file'), 'utf8')).toBe('untouched')
}

/** For root nothing is forbidden; the tests of nodes without root go the other way. */
test.each([0o700, 0o500, 0o000])('a folder with one of mode %o in it goes', async (mode) => {
  const inner = path.join(tree, 'a', 'b')
  mkdirSync(inner, { recursive: true })
  writeFileSync(path.join(inner, 'file'), '')
  chmodSync(inner, mode)
  for (let i = 0; i < 50; i++) mkdirSync(path.join(tree, `neighbour-${i}`, 'c'), { recursive: true })
  await expectRemoved()
})

test('what is not there is no error', async () => {
  await expectRemoved()
  await expectRemoved()
  await removeTree(path.join(scratch, 'nothing', 'at', 'all'))
})

test('links, pipes and names of any bytes go, and nothing that they lead to', async () => {
  symlinkSync(path.join(scratch, 'canary'), path.join(tree, 'absolute'))
  symlinkSync('../canary', path.join(tree, 'relative'))
  symlinkSync('circle', path.join(tree, 'circle'))
  execFileSync('mkfifo', [path.join(tree, 'pipe')])
  for (const name of ['\xff\xfe', 'a\nb', '-rf', '..x'])
    mkdirSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from(name, 'latin1')]))
  writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0x80])]), '')
  await expectRemoved()
})

test('a link in place of the tree goes, and not its target', async () => {
  rmSync(tree, { recursive: true })
  symlinkSync('canary', tree)
  await expectRemoved()
})

test('a tree deeper than any path goes', async () => {
  let folder = Folder.open(tree)
  for (let i = 0; i < 1500; i++) {
    using outer = folder
    outer.makeFolder(`folder-${i}`, 0o700)
    folder = outer.folder(`folder-${i}`)
  }
  folder[Symbol.dispose]()
  for (let i = 1; i < 4; i++) mkdirSync(path.join(tree, `..removed-${i}`, 'x'), { recursive: true })
  await expectRemoved()
})

test('several removals of the same tree do not disturb each other', async () => {
  for (let i = 0; i < 200; i++) mkdirSync(path.join(tree, `a${i % 10}`, `b${i}`, 'c'), { recursive: true })
  await Promise.all(Array.from({ length: 5 }, () => removeTree(tree)))
  expect(existsSync(tree)).toBe(false)
})
