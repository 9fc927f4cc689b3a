import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { CompiledCode } from './compiled-code.ts'

let cache: string
let folder: string
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'sampan-code-'))
  folder = join(cache, 'sampan', 'code')
})
afterEach(() => rmSync(cache, { recursive: true }))

const compiled = (program: string, more: NodeJS.ProcessEnv = {}) =>
  CompiledCode.of(program, { XDG_CACHE_HOME: cache, ...more })

it('is there for the next process, readable by its owner alone', () => {
  expect(compiled('a').read()).toBeUndefined()
  compiled('a').write(Buffer.from('code'))
  expect(String(compiled('a').read())).toBe('code')
  expect(readdirSync(folder)).toHaveLength(1)
  expect(statSync(join(folder, readdirSync(folder)[0]!)).mode & 0o777).toBe(0o600)
})

it.each([
  ['another program', () => compiled('b')],
  ['other options of Node', () => compiled('a', { NODE_OPTIONS: '--stack-size=2000' })],
])('is not for %s', (_, other) => {
  compiled('a').write(Buffer.from('code'))
  expect(other().read()).toBeUndefined()
})

it('is not taken from a folder in which others may write', () => {
  compiled('a').write(Buffer.from('code'))
  chmodSync(folder, 0o770)
  expect(compiled('a').read()).toBeUndefined()
})

it('goes when it was not written for long', () => {
  compiled('a').write(Buffer.from('code'))
  const old = join(folder, 'old')
  writeFileSync(old, '')
  utimesSync(old, 0, 0)
  compiled('b').write(Buffer.from('code'))
  expect(existsSync(old)).toBe(false)
  expect(compiled('a').read()).toBeDefined()
})

it('may be missing where nothing can be written', () => {
  writeFileSync(join(cache, 'sampan'), 'a file, not a folder')
  compiled('a').write(Buffer.from('code'))
  expect(compiled('a').read()).toBeUndefined()
})
