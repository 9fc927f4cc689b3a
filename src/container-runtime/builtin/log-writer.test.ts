import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { LogWriter } from './log-writer.ts'

let folder: string
let file: string
let log: LogWriter
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'sampan-log-'))
  file = path.join(folder, 'pod', 'main', '0.log')
  log = new LogWriter(file, new VirtualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678)))
})
afterEach(() => {
  log.close()
  rmSync(folder, { recursive: true, force: true })
})

const T = '2026-01-02T03:04:05.678'

test.each([
  ['a line', ['one\n'], [`${T}000000Z stdout F one`]],
  ['two lines', ['one\ntwo\n'], [`${T}000000Z stdout F one`, `${T}000001Z stdout F two`]],
  ['an empty line', ['\n'], [`${T}000000Z stdout F `]],
  ['a line in pieces', ['on', 'e\n'], [`${T}000000Z stdout P on`, `${T}000001Z stdout F e`]],
  ['the end in a chunk of its own', ['one', '\n'], [`${T}000000Z stdout P one`, `${T}000001Z stdout F `]],
  ['no end', ['one'], [`${T}000000Z stdout P one`]],
  ['nothing', [''], []],
])('%s', (_name, chunks, lines) => {
  for (const chunk of chunks) log.write('stdout', Buffer.from(chunk))
  const text = chunks.join('') === '' ? '' : readFileSync(file, 'utf8')
  expect(text).toBe(lines.map((line) => `${line}\n`).join(''))
})

test('a long line is cut at 16 KiB', () => {
  log.write('stderr', Buffer.from(`${'x'.repeat(40_000)}\n`))
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  expect(lines.map((line) => [line.split(' ')[2], line.split(' ')[3]!.length])).toEqual([
    ['P', 16_384],
    ['P', 16_384],
    ['F', 7232],
  ])
})

test('after a rotation a new file takes what comes', () => {
  log.write('stdout', Buffer.from('old\n'))
  renameSync(file, `${file}.1`)
  log.write('stdout', Buffer.from('still old\n'))
  log.reopen()
  log.write('stdout', Buffer.from('new\n'))
  expect(readFileSync(`${file}.1`, 'utf8')).toContain('still old')
  expect(readFileSync(file, 'utf8')).toMatch(/ stdout F new\n$/)
})
