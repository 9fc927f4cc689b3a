/** npm run check: everything a reviewer would ask for that needs no cluster. */
import { buildGenerated } from './build.mjs'
import { ensureDependencies } from './setup.mjs'
import { allSteps, local, run } from './steps.mjs'

export const CHECKS = [
  ['types', () => run(local('tsc'), ['--noEmit'])],
  ['lint and format', () => run(local('biome'), ['check', '--error-on-warnings', '.'])],
  ['house rules', () => run(process.execPath, ['tools/house-rules/main.mjs'])],
  ['unit tests', () => run(local('vitest'), ['run'])],
]

if (process.argv[1]?.endsWith('check.mjs')) {
  await ensureDependencies()
  await buildGenerated()
  process.exit((await allSteps(CHECKS)).length > 0 ? 1 : 0)
}
