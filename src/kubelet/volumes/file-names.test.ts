/** Names that pods choose for files of the node. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writePayload } from './atomic-writer.ts'
import { checkHostPath } from './host-path/plugin.ts'

let scratch: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'file-names-'))
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

test.each(['../out', '..', '.', '', '/etc/x', 'a/../../out', 'a//b', '..data', '..data/x', 'a\0b'])(
  'a volume has no file %j',
  async (name) => {
    const payload = new Map([[name, { data: Buffer.from('x'), mode: 0o644 }]])
    await expect(writePayload(path.join(scratch, 'volume'), payload, 0)).rejects.toThrow('invalid path of a file')
    expect(readdirSync(scratch)).toEqual([])
  },
)

test.each(['a', 'a/b', 'a/..b', '.hidden'])('a volume may have a file %j', async (name) => {
  await writePayload(path.join(scratch, 'volume'), new Map([[name, { data: Buffer.from('x'), mode: 0o644 }]]), 0)
  expect(existsSync(path.join(scratch, 'volume', name))).toBe(true)
})

test.each(['FileOrCreate', 'DirectoryOrCreate'])('%s makes nothing where a dangling link points', async (type) => {
  symlinkSync('target', path.join(scratch, 'link'))
  await expect(checkHostPath(path.join(scratch, 'link'), type)).rejects.toThrow()
  expect(readdirSync(scratch)).toEqual(['link'])
})

test.each([
  ['FileOrCreate', 'file', 'folder'],
  ['DirectoryOrCreate', 'folder', 'file'],
])('%s takes what is there, if it is one', async (type, good, bad) => {
  mkdirSync(path.join(scratch, 'folder'))
  writeFileSync(path.join(scratch, 'file'), 'kept')
  await checkHostPath(path.join(scratch, good), type)
  await checkHostPath(path.join(scratch, `new-${good}`), type)
  await checkHostPath(path.join(scratch, `new-${good}`), type)
  await expect(checkHostPath(path.join(scratch, bad), type)).rejects.toThrow('hostPath type check failed')
})
