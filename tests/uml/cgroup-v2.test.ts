/** The container runtime's whole contract and the limits of pods on a kernel that has cgroup v2 and nothing else. */
import path from 'node:path'
import { expect, test } from 'vitest'
import { inUserModeLinux } from './user-mode-linux.ts'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
const FILES = [
  'tests/container-runtime/builtin.test.ts',
  'tests/container-runtime/rootless.test.ts',
  'tests/kubelet/limits.test.ts',
]
/** What a login leaves: a slice that the user owns, with a group for the processes of the session. */
const DELEGATE = `
  cd /sys/fs/cgroup && mkdir -p user.slice/session.scope
  echo '+cpu +memory +pids' > cgroup.subtree_control
  echo '+cpu +memory +pids' > user.slice/cgroup.subtree_control
  chown 54321 user.slice user.slice/cgroup.procs user.slice/cgroup.subtree_control
  echo 0 > user.slice/session.scope/cgroup.procs`
const TIME_LIMIT = 500

test(
  'containers and pods on pure cgroup v2',
  async () => {
    // The checkout cannot be written, so the configuration is not compiled to a file.
    const vitest = `${process.execPath} node_modules/vitest/vitest.mjs run --configLoader runner`
    const script = `${DELEGATE}
      cd ${ROOT} && cat /sys/fs/cgroup/cgroup.controllers &&
      ${vitest} --config vitest.tests.config.ts --maxWorkers 1 --reporter=verbose ${FILES.join(' ')}`
    const { output, code } = await inUserModeLinux(script, TIME_LIMIT)
    expect(code, output.slice(-20_000)).toBe(0)
    expect(output).toMatch(/^cpu .*memory pids/m)
    expect(output).toContain('limits of pods on cgroup v2')
    expect(output).toContain('too much memory is OOMKilled')
    expect(output).toContain('✓ tests/container-runtime/rootless.test.ts > a plain user > runs containers as root')
  },
  (TIME_LIMIT + 10) * 1000,
)
