import path from 'node:path'
import { defineConfig } from 'vitest/config'
import { SummaryReporter } from './tests/tools/summary-reporter.ts'

/** The tests that start processes: clusters, kubectl, etcd. Run by `npm test`; they need the build. */
export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts', 'examples/**/*.test.mjs'],
    pool: 'forks',
    // One more than the cores of a small machine: many tests wait for something most of the time.
    maxWorkers: 3,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    env: { XDG_CACHE_HOME: path.resolve('.cache', 'tests') },
    // These share a machine with whatever else runs there. A second failure counts, a first one is told at the end.
    retry: 1,
    reporters: [process.env.CI ? 'verbose' : 'default', new SummaryReporter()],
  },
})
