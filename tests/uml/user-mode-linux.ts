/**
 * Another kernel as a process: Debian's user-mode-linux, with this machine's files read-only, an own /run, and nothing but
 * cgroup v2. Needs neither KVM nor root.
 */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const KERNEL = '/usr/bin/linux.uml'
const MODULES = '/usr/lib/uml/modules'
const MARK = 'the guest ended with'

export interface Guest {
  /** Everything it wrote to its console. */
  readonly output: string
  /** Of the script; undefined if it came to no end in time. */
  readonly code: number | undefined
}

/** Runs a shell script as the only program of the kernel. */
export async function inUserModeLinux(script: string, seconds: number): Promise<Guest> {
  if (!existsSync(KERNEL)) throw new Error(`${KERNEL} is missing: npm run setup installs Debian's user-mode-linux`)
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-uml-'))
  try {
    const init = path.join(folder, 'init')
    writeFileSync(init, initScript(script))
    chmodSync(init, 0o755)
    const output = await boot(init, seconds)
    const code = new RegExp(`${MARK} (\\d+)`).exec(output)?.[1]
    return { output, code: code === undefined ? undefined : Number(code) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const initScript = (script: string) => `#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run/tmp NO_COLOR=1 CI=1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /run/tmp /run/netns /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup
busybox insmod ${MODULES}/$(uname -r)/kernel/fs/overlayfs/overlay.ko
ip link set lo up
(
${script}
)
echo "${MARK} $?"
poweroff -f
`

/** The memory of the guest is a file that must be executable: in /dev/shm it is memory too. */
function boot(init: string, seconds: number): Promise<string> {
  const args = ['mem=1536M', 'rootfstype=hostfs', 'rootflags=/', 'ro', `init=${init}`]
  const child = spawn(KERNEL, [...args, 'con=null', 'con0=fd:0,fd:1', 'quiet', 'panic=-1'], {
    env: { TMPDIR: '/dev/shm', HOME: tmpdir() },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  // The guest's processes are processes here, of the group of the kernel.
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), seconds * 1000)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => {
      clearTimeout(timer)
      resolve(output)
    })
  })
}
