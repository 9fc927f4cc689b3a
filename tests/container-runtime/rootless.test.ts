/** Containers of a plain user: no root, no capabilities, nothing set up. */
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'

const USER = 54321

asRoot('a plain user', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-rootless-'))
  const program = path.join(folder, 'rootless.mjs')
  beforeAll(() => {
    chmodSync(folder, 0o755)
    symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'))
    const entry = fileURLToPath(new URL('rootless-program.ts', import.meta.url))
    buildSync({
      entryPoints: [entry],
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
    })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  async function runAsUser(before: readonly string[] = []) {
    const work = path.join(folder, `work-${before.length}`)
    mkdirSync(work, { recursive: true })
    chownSync(work, USER, USER)
    const drop = [
      '--reuid',
      String(USER),
      '--regid',
      String(USER),
      '--clear-groups',
      '--bounding-set=-all',
      '--inh-caps=-all',
    ]
    const command = ['setpriv', ...drop, ...before, process.execPath, program, work]
    const env = { PATH: process.env.PATH, TMPDIR: work }
    const { stdout } = await promisify(execFile)(command[0]!, command.slice(1), { env })
    return { told: JSON.parse(stdout), left: readdirSync(path.join(work)) }
  }

  test('runs containers as root, and as whoever they ask for', async () => {
    const { told } = await runAsUser()
    expect(told).toMatchObject({
      uid: 0,
      root: { code: 3, output: '0\nwritten\nremoved\n' },
      user: { code: 0, output: '33\n44\nCapEff:\t0000000000000000\n' },
      exitCode: 137,
    })
    // Where the system delegates a group to the user its limits hold; elsewhere it is known that they do not.
    const { isDelegated, reason, unenforcedLimits } = told.limits
    if (isDelegated) expect({ reason, unenforcedLimits }).toEqual({ reason: 'OOMKilled' })
    else expect({ reason, unenforcedLimits }).toEqual({ reason: 'Completed', unenforcedLimits: ['memory'] })
    expect(told.terminal.output).toMatch(/^\/dev\/pts\/\d+\r\n$/)
  })

  test('is told what forbids it', async () => {
    // In a user namespace that allows no further ones, as a system that forbids them does.
    const limited = [
      'unshare',
      '--user',
      '--map-root-user',
      'sh',
      '-c',
      'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
      'sh',
    ]
    const { told } = await runAsUser(limited)
    expect(told.error).toContain('user.max_user_namespaces')
  })
})
