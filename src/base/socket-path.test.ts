import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { removeSocket, socketPath } from './socket-path.ts'

test('a short path is taken as it is, and its folder stays', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-test-'))
  const socket = socketPath(path.join(folder, 'a.sock'))
  expect(socket).toBe(path.join(folder, 'a.sock'))
  writeFileSync(socket, '')
  removeSocket(socket)
  expect([existsSync(socket), existsSync(folder)]).toEqual([false, true])
  rmSync(folder, { recursive: true })
})

test('those of a deep folder share a short one, which goes with the last', () => {
  const deep = path.join(tmpdir(), `d${process.pid}`.padEnd(120, 'x'))
  const [first, second] = [socketPath(path.join(deep, 'a.sock')), socketPath(path.join(deep, 'b.sock'))]
  expect(path.dirname(first)).toBe(path.dirname(second))
  expect(Buffer.byteLength(first)).toBeLessThan(100)
  for (const socket of [first, second]) writeFileSync(socket, '')
  removeSocket(first)
  expect(existsSync(second)).toBe(true)
  removeSocket(second)
  expect(existsSync(path.dirname(first))).toBe(false)
})

const isRoot = process.getuid?.() === 0

test.each<[string, boolean, (folder: string) => void, string]>([
  ['a link', true, (folder) => symlinkSync(tmpdir(), folder), 'is not a folder'],
  ['a file', true, (folder) => writeFileSync(folder, ''), 'is not a folder'],
  ['a folder that all can write to', true, (folder) => [mkdirSync(folder), chmodSync(folder, 0o777)], 'other users'],
  ['a folder of another user', isRoot, (folder) => [mkdirSync(folder), chownSync(folder, 1, 1)], 'another user'],
])('%s in place of the short folder is refused', (_, isPossible, plant, message) => {
  if (!isPossible) return
  const wanted = path.join(tmpdir(), `e${process.pid}`.padEnd(120, 'x'), 'a.sock')
  const folder = path.dirname(socketPath(wanted))
  rmSync(folder, { recursive: true })
  try {
    plant(folder)
    expect(() => socketPath(wanted)).toThrow(message)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
