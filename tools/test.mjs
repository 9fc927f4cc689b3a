/**
 * npm test: the whole suite, from a fresh clone on. Installs, builds, checks, then the tests that start clusters.
 * Arguments are passed to the cluster tests: `npm test -- kubectl` runs those whose file name has that word.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { build, buildGenerated } from './build.mjs'
import { CHECKS } from './check.mjs'
import { ensureDependencies, ensurePrograms } from './setup.mjs'
import { allSteps, green, local, run } from './steps.mjs'

const filters = process.argv.slice(2)
const vitest = (...args) => run(local('vitest'), ['run', '--config', 'vitest.tests.config.ts', ...args, ...filters])

try {
  await ensureDependencies()
  await ensurePrograms()
  await buildGenerated()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

/** The suites write here what failed; said again at the end, where it is found. */
const summaries = mkdtempSync(path.join(os.tmpdir(), 'sampan-test-'))
process.env.TEST_SUMMARY = path.join(summaries, 'summary')
writeFileSync(process.env.TEST_SUMMARY, '')

const checks = filters.length > 0 ? [] : CHECKS
const failed = await allSteps([...checks, ['build', build], ['cluster tests', () => vitest()]])
process.stdout.write(readFileSync(process.env.TEST_SUMMARY, 'utf8'))
rmSync(summaries, { recursive: true })
if (failed.length > 0) process.exit(1)
console.log(green('\neverything passed'))
