import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Folder } from './folder.ts'

let scratch: string
let folder: Folder
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'folder-'))
  mkdirSync(path.join(scratch, 'root', 'inner'), { recursive: true })
  mkdirSync(path.join(scratch, 'canary'), { mode: 0o711 })
  writeFileSync(path.join(scratch, 'canary', 'file'), 'untouched', { mode: 0o600 })
  folder = Folder.open(path.join(scratch, 'root'))
})
afterEach(() => {
  folder[Symbol.dispose]()
  rmSync(scratch, { recursive: true, force: true })
})
const at = (name: string) => path.join(scratch, 'root', name)

test('files, folders and links are made, named, changed and removed', () => {
  {
    using file = folder.create('file', 0o600)
    writeSync(file.descriptor, 'text')
  }
  folder.makeFolder('made', 0o700)
  folder.makeLink('file', 'link')
  using inner = folder.folder('inner')
  inner.link(folder, 'link', 'same-link')
  folder.setMode('file', 0o640)
  folder.setTimes('link', 5, 5)
  inner.setOwnMode(0o750)
  inner.setOwnTimes(7, 7)
  expect(readFileSync(at('file'), 'utf8')).toBe('text')
  expect(folder.names().sort()).toEqual(['file', 'inner', 'link', 'made'])
  expect(folder.stat('file')!.mode & 0o7777).toBe(0o640)
  expect(folder.stat('inner/same-link')!.ino).toBe(folder.stat('link')!.ino)
  expect(folder.readLink('inner/same-link')).toBe('file')
  expect(folder.stat('link')!.mtimeMs).toBe(5000)
  expect(inner.ownStat()).toMatchObject({ mtimeMs: 7000, ino: folder.stat('inner')!.ino })
  expect(lstatSync(folder.pathForOthers('inner')).ino).toBe(lstatSync(inner.pathForOthers()).ino)
  folder.unlink('file')
  folder.removeFolder('made')
  expect(folder.names().sort()).toEqual(['inner', 'link'])
  expect(folder.stat('made')).toBeUndefined()
  expect(folder.stat('inner/nothing/at/all')).toBeUndefined()
})

test.each<[string, (one: Folder) => void]>([
  ['opens a folder', (one) => one.folder('link')],
  ['opens a folder beneath', (one) => one.folder('link/canary')],
  ['creates a file', (one) => one.create('link', 0o666)],
  ['makes a folder', (one) => one.makeFolder('link', 0o777)],
  ['makes a link', (one) => one.makeLink('x', 'link')],
  ['changes a mode', (one) => one.setMode('link', 0o777)],
  ['removes a folder', (one) => one.removeFolder('link')],
  ['reads a link beneath', (one) => one.readLink('link/x')],
  ['uses a path as a name', (one) => one.unlink('link/file')],
  ['uses a path to above', (one) => one.makeFolder('../canary/new', 0o777)],
])('no call follows a link when it %s', (_what, call) => {
  symlinkSync(path.join(scratch, 'canary'), at('link'))
  expect(() => call(folder)).toThrow()
  expect(lstatSync(path.join(scratch, 'canary')).mode & 0o7777).toBe(0o711)
})

test('calls that take a link take the link itself', () => {
  symlinkSync(path.join(scratch, 'canary', 'file'), at('link'))
  const before = lstatSync(path.join(scratch, 'canary', 'file'))
  folder.setTimes('link', 1, 1)
  folder.setOwner('link', process.getuid!(), process.getgid!())
  using inner = folder.folder('inner')
  inner.link(folder, 'link', 'again')
  expect(inner.stat('again')!.isSymbolicLink()).toBe(true)
  expect(folder.stat('link/file')).toBeUndefined()
  folder.unlink('link')
  expect(lstatSync(path.join(scratch, 'canary', 'file'))).toEqual(before)
})
