import { readFile } from 'node:fs/promises'
import { MNT_DETACH, MS } from '../linux/mounts.ts'
import type { SyscallAgents } from '../linux/syscall-agent.ts'
import { LinuxError } from '../linux/system-error.ts'
import type { Mounter } from './mounter.ts'

const UMOUNT_NOFOLLOW = 8

/** Mounts in the namespace of this process, by an agent: Node has no calls for it. */
export function kernelMounter(agents: Pick<SyscallAgents, 'host'>): Mounter {
  const { host } = agents
  return {
    canMount: true,
    async mountTmpfs(path, sizeBytes) {
      if ((await mountPoints()).includes(path)) return
      const size = sizeBytes === undefined ? null : `size=${sizeBytes}`
      await host.call('mount', ['tmpfs', path, 'tmpfs', 0, size])
    },
    async bind(source, target) {
      await host.call('mount', [source, target, null, MS.BIND | MS.REC, null])
    },
    async unmount(path) {
      try {
        await host.call('umount2', [path, MNT_DETACH | UMOUNT_NOFOLLOW])
      } catch (error) {
        // Not mounted (any more), or gone altogether.
        if (!(error instanceof LinuxError && ['EINVAL', 'ENOENT'].includes(error.code))) throw error
      }
    },
    async mountsUnder(path) {
      const below = (await mountPoints()).filter((point) => point === path || point.startsWith(`${path}/`))
      return below.sort((a, b) => b.length - a.length)
    },
  }
}

async function mountPoints(): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')
  return lines.flatMap((line) => line.split(' ')[4] ?? []).map(unescaped)
}

/** The kernel writes blanks and backslashes as octal numbers. */
const unescaped = (text: string) =>
  text.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
