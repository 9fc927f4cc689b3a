/** A pod with a hostPath may write to the folder of the logs: links that it puts there lead nowhere. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'
import { readLog } from './read-log.ts'
import { rotateLog } from './rotate-logs.ts'

let scratch: string
let podLogsDir: string
let folder: string
let file: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'log-files-'))
  podLogsDir = path.join(scratch, 'pods')
  folder = path.join(podLogsDir, 'default_app_uid', 'main')
  file = path.join(folder, '0.log')
  mkdirSync(folder, { recursive: true })
  mkdirSync(path.join(scratch, 'host'))
  writeFileSync(path.join(scratch, 'host', '0.log'), '2026-01-01T00:00:00Z stdout F secret\n')
  writeFileSync(file, '2026-01-01T00:00:00Z stdout F own\n')
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

async function shown(of = file): Promise<string> {
  const source = { podLogsDir, file: of, clock: new VirtualClock(), signal: new AbortController().signal }
  let text = ''
  for await (const piece of readLog({ ...source, isOpen: async () => false }, {})) text += piece
  return text
}

/** Reopening is all that a rotation asks of a runtime. */
const runtime = { reopenContainerLog: async () => writeFileSync(file, '') } as unknown as ContainerRuntime
const rotate = (now = 0) => rotateLog(runtime, 'id', { podLogsDir, file }, { maxBytes: 10, maxFiles: 3 }, now)
const secret = () => readFileSync(path.join(scratch, 'host', '0.log'), 'utf8')

describe('a log is shown', () => {
  test('as it is in its file', async () => {
    expect(await shown()).toBe('own\n')
    expect(await shown(path.join(folder, '1.log'))).toBe('')
  })

  test.each(['0.log', 'main', 'default_app_uid'])('not through a link in place of %s', async (name) => {
    const place = file.slice(0, file.indexOf(name) + name.length)
    rmSync(place, { recursive: true })
    const rest = path.relative(place, file)
    mkdirSync(path.join(scratch, 'host', path.dirname(rest)), { recursive: true })
    if (rest !== '') writeFileSync(path.join(scratch, 'host', rest), secret())
    symlinkSync(rest === '' ? path.join(scratch, 'host', '0.log') : path.join(scratch, 'host'), place)
    expect(readFileSync(file, 'utf8')).toContain('secret')
    expect(await shown()).toBe('')
  })

  test('not from outside the folder of the logs', async () => {
    expect(await shown(path.join(scratch, 'host', '0.log'))).toBe('')
  })
})

describe('a rotation', () => {
  test('packs the older ones and keeps few', async () => {
    for (let i = 0; i < 5; i++) {
      writeFileSync(file, `line ${i} of the log\n`)
      expect(await rotate(i * 1000)).toBe(true)
    }
    expect(readdirSync(folder)).toEqual(['0.log', '0.log.19700101-000003.gz', '0.log.19700101-000004'])
    expect(gunzipSync(readFileSync(path.join(folder, '0.log.19700101-000003.gz'))).toString()).toBe(
      'line 3 of the log\n',
    )
  })

  test('leaves a log that is a link alone', async () => {
    rmSync(file)
    symlinkSync(path.join(scratch, 'host', '0.log'), file)
    expect(await rotate()).toBe(false)
  })

  test('does not work in a folder that is a link', async () => {
    rmSync(folder, { recursive: true })
    symlinkSync(path.join(scratch, 'host'), folder)
    await expect(rotate()).rejects.toThrow('ELOOP')
    expect(readdirSync(path.join(scratch, 'host'))).toEqual(['0.log'])
  })

  test('neither packs what a link leads to nor writes through one', async () => {
    symlinkSync(path.join(scratch, 'host', '0.log'), path.join(folder, '0.log.linked'))
    writeFileSync(path.join(folder, '0.log.older'), 'older')
    for (const name of ['0.log.older.tmp', '0.log.older.gz', '0.log.19700101-000000'])
      symlinkSync(path.join(scratch, 'host', '0.log'), path.join(folder, name))
    const before = secret()
    expect(await rotate()).toBe(true)
    expect(secret()).toBe(before)
    expect(readdirSync(folder)).toEqual(['0.log', '0.log.19700101-000000', '0.log.older.gz'])
    expect(gunzipSync(readFileSync(path.join(folder, '0.log.older.gz'))).toString()).toBe('older')
  })
})
