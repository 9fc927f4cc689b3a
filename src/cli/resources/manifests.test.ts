import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readManifests } from './manifests.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sampan-manifests-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const write = (name: string, text: string) => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}
const object = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`
const names = async (paths: string[], recursive = false) =>
  (await readManifests(paths, recursive)).map((one) => one.metadata.name)

test('documents, lists and directories', async () => {
  mkdirSync(join(dir, 'more'))
  write('b.yaml', `---\n${object('one')}---\n# nothing\n---\n${object('two')}`)
  write(
    'a.json',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }],
    }),
  )
  write('ignored.txt', 'x')
  write('more/c.yml', object('three'))
  expect(await names([dir])).toEqual(['p', 'one', 'two'])
  expect(await names([dir], true)).toEqual(['p', 'one', 'two', 'three'])
})

test.each([
  ['a: [', 'Flow sequence'],
  ['kind: X', 'needs apiVersion and kind'],
  ['apiVersion: v1\nkind: Pod', 'Pod needs metadata.name'],
  ['', 'there are no objects'],
  ['- a', 'needs apiVersion and kind'],
])('%j is refused', async (text, message) => {
  await expect(names([write('x.yaml', text)])).rejects.toThrow(message)
})

test('a missing file is named', async () => {
  await expect(names([join(dir, 'missing')])).rejects.toThrow('there is no file')
})
