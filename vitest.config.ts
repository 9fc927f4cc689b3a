import { defineConfig } from 'vitest/config'
import { SummaryReporter } from './tests/tools/summary-reporter.ts'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'tools/**/*.test.{ts,mjs}'],
    testTimeout: 30_000,
    // A busy machine takes longer than a second for what must happen some time.
    expect: { poll: { timeout: 10_000 } },
    // Whoever changes an object that caches share is caught in the act.
    env: { SAMPAN_FREEZE_OBJECTS: '1' },
    pool: 'threads',
    // Nothing here keeps state between tests, so a worker loads each module once for all of its files.
    isolate: false,
    // As for the cluster tests: a second failure counts, a first one is told at the end.
    retry: 1,
    reporters: ['default', new SummaryReporter()],
  },
})
