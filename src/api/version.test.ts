import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SAMPAN_VERSION } from './version.ts'

test('the version of the package is the one in package.json', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(SAMPAN_VERSION).toBe(version)
})
