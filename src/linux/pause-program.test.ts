import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { pauseExecutable } from './pause-program.ts'
import { ownArchitecture } from './syscall-numbers.ts'

const QEMU = '/usr/bin/qemu-aarch64-static'
const SIGCHLD = 1n << 16n

/** What the kernel says it ignores, once it has come so far. */
const ignored = (pid: number) => BigInt(`0x${/SigIgn:\s+(\w+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]}`)

test.skipIf(process.platform !== 'linux').each([
  [ownArchitecture(), []],
  ['arm64', [QEMU]],
] as const)('the %s program waits, and lets the kernel reap', async (architecture, runner) => {
  if (runner.some((program) => !existsSync(program))) return
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-pause-'))
  const file = path.join(folder, 'pause')
  writeFileSync(file, pauseExecutable(architecture), { mode: 0o755 })
  const [program, ...args] = [...runner, file]
  const child = spawn(program!, args, { stdio: 'ignore' })
  try {
    await expect.poll(() => (ignored(child.pid!) & SIGCHLD) !== 0n).toBe(true)
    expect(child.exitCode).toBe(null)
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})
