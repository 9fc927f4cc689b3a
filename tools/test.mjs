/**
 * npm test: the whole suite, from a fresh clone on. Installs, builds, checks, then the tests that start clusters.
 * Arguments are passed to the cluster tests: `npm test -- kubectl` runs those whose file name has that word.
 */
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

const checks = filters.length > 0 ? [] : CHECKS
const failed = await allSteps([...checks, ['build', build], ['cluster tests', () => vitest()]])
if (failed.length > 0) process.exit(1)
console.log(green('\neverything passed'))
