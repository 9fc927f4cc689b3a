import path from 'node:path'
import { defineConfig } from 'vitest/config'

/** The tests that start processes: clusters, kubectl, etcd. Run by `npm test`; they need the build. */
export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts', 'examples/**/*.test.mjs'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    env: { XDG_CACHE_HOME: path.resolve('.cache', 'tests') },
    reporters: process.env.CI ? ['verbose'] : ['default'],
  },
})
