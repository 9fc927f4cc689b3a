import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'tools/**/*.test.{ts,mjs}'],
    testTimeout: 30_000,
    pool: 'threads',
  },
})
