import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeFileAtomically } from './atomic-file.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sampan-atomic-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('replaces the content, is private by default, leaves nothing else', async () => {
  const path = join(dir, 'file')
  writeFileSync(path, 'old', { mode: 0o644 })
  await writeFileAtomically(path, 'new')
  expect(readFileSync(path, 'utf8')).toBe('new')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(dir)).toEqual(['file'])
})

test('many writers at once: one of them wins as a whole', async () => {
  const path = join(dir, 'file')
  const texts = Array.from({ length: 20 }, (_, i) => String(i).repeat(10_000))
  await Promise.all(texts.map((text) => writeFileAtomically(path, text)))
  expect(texts).toContain(readFileSync(path, 'utf8'))
  expect(readdirSync(dir)).toEqual(['file'])
})

test('a failure leaves no temporary file', async () => {
  await expect(writeFileAtomically(dir, 'x')).rejects.toThrow()
  await expect(writeFileAtomically(join(dir, 'missing', 'file'), 'x')).rejects.toThrow()
  expect(readdirSync(dir)).toEqual([])
})
