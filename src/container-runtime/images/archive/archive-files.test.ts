import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { folderFiles } from './archive-files.ts'

let scratch: string
let folder: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'archive-'))
  folder = path.join(scratch, 'layout')
  mkdirSync(path.join(folder, 'blobs'), { recursive: true })
  writeFileSync(path.join(scratch, 'outside'), 'secret')
  writeFileSync(path.join(folder, 'blobs', 'layer'), 'layer')
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

test('a folder shows its files, also by links inside it', () => {
  symlinkSync('layer', path.join(folder, 'blobs', 'again'))
  const files = folderFiles(folder)
  expect(files.read('blobs/again', 100).toString()).toBe('layer')
  expect(files.size('blobs/layer')).toBe(5)
  expect(files.has('blobs')).toBe(false)
  expect(() => files.read('blobs/layer', 4)).toThrow('larger than 4 bytes')
})

test.each(['../outside', 'blobs/../../outside', 'link', '/outside'])('a folder does not show %s', (name) => {
  symlinkSync('../outside', path.join(folder, 'link'))
  const files = folderFiles(folder)
  expect(files.has(name)).toBe(false)
  for (const look of [() => files.read(name, 100), () => files.size(name), () => files.open(name)])
    expect(look).toThrow(`the archive has no ${name}`)
})
