/** What containerd does with limits on a kernel that has cgroup v2 and nothing else. Its programs are slow in user mode. */
import path from 'node:path'
import { expect, test } from 'vitest'
import { inUserModeLinux } from './user-mode-linux.ts'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
const ROWS = [
  'are created, run, exit and go',
  'too much memory is OOMKilled',
  'a fork bomb ends at the limit',
  'are seen in the figures',
  'may be changed while it runs',
]
const TIME_LIMIT = 900

test(
  'containerd on pure cgroup v2',
  async () => {
    const vitest = `${process.execPath} node_modules/vitest/vitest.mjs run --configLoader runner`
    // CNI remembers in /var/lib what it has done.
    const script = `mount -t tmpfs lib /var/lib && cd ${ROOT} && ${vitest} --config vitest.tests.config.ts \\
      --reporter=verbose tests/container-runtime/cri.test.ts -t '${ROWS.join('|')}'`
    const { output, code } = await inUserModeLinux(script, TIME_LIMIT)
    expect(code, output.slice(-20_000)).toBe(0)
    for (const row of ROWS) expect(output).toMatch(new RegExp(`✓ .* ${row}`))
  },
  (TIME_LIMIT + 10) * 1000,
)
