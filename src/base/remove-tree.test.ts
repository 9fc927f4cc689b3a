import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { removeTree } from './remove-tree.ts'

/** For root nothing is forbidden; the tests of nodes without root go the other way. */
test.each([0o700, 0o000])('a folder with one of mode %o in it', async (mode) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-remove-'))
  const inner = path.join(folder, 'a', 'b')
  mkdirSync(inner, { recursive: true })
  writeFileSync(path.join(inner, 'file'), '')
  chmodSync(inner, mode)
  for (let i = 0; i < 50; i++) mkdirSync(path.join(folder, `neighbour-${i}`, 'c'), { recursive: true })
  await removeTree(folder)
  expect(existsSync(folder)).toBe(false)
  await removeTree(folder)
})
