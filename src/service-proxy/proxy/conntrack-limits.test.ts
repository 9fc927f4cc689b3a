import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../../base/log.ts'
import { DEFAULT_CONNTRACK_LIMITS, raiseConntrackLimits } from './conntrack-limits.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sampan-conntrack-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const read = (name: string) => readFileSync(join(root, name), 'utf8').trim()

test.each<[number, string, string]>([
  [1, '65536', '131072'],
  [8, '65536', '262144'],
  [8, '1048576', '1048576'],
])('%i cores, limit %s: %s', (cores, before, after) => {
  writeFileSync(join(root, 'nf_conntrack_max'), `${before}\n`)
  writeFileSync(join(root, 'nf_conntrack_tcp_timeout_established'), '432000\n')
  writeFileSync(join(root, 'nf_conntrack_tcp_timeout_close_wait'), '60\n')
  raiseConntrackLimits(DEFAULT_CONNTRACK_LIMITS, cores, silentLogger, root)
  expect(read('nf_conntrack_max')).toBe(after)
  expect(read('nf_conntrack_tcp_timeout_established')).toBe('86400')
  expect(read('nf_conntrack_tcp_timeout_close_wait')).toBe('3600')
})

test('a kernel without them is no failure', () => {
  expect(() => raiseConntrackLimits(DEFAULT_CONNTRACK_LIMITS, 4, silentLogger, join(root, 'gone'))).not.toThrow()
})
