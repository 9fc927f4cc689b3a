/** What Node cannot do to files, and what some are not allowed to: device nodes and extended attributes. */
import { AT_FDCWD } from '../../../linux/mounts.ts'
import type { AgentChannel } from '../../../linux/syscall-agent.ts'

export interface PrivilegedFiles {
  /** The kind of file is in `mode`, as in stat. */
  mknod(path: string, mode: number, major: number, minor: number): Promise<void>
  /** Of a link itself, not of what it points to. */
  setxattr(path: string, name: string, value: Buffer): Promise<void>
}

export const S_IFIFO = 0o010000
export const S_IFCHR = 0o020000
export const S_IFBLK = 0o060000

export function filesByAgent(agent: AgentChannel): PrivilegedFiles {
  return {
    async mknod(path, mode, major, minor) {
      await agent.call('mknodat', [AT_FDCWD, path, mode, deviceNumber(major, minor)])
    },
    async setxattr(path, name, value) {
      await agent.call('lsetxattr', [path, name, value, value.length, 0])
    },
  }
}

/** As the kernel's user space writes it: twelve bits of major around twenty of minor. */
const deviceNumber = (major: number, minor: number) =>
  (((minor & 0xff) | ((major & 0xfff) << 8)) >>> 0) + (minor & 0xfff00) * 2 ** 12

const SOFT = new Set(['EPERM', 'EACCES', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'ENODATA', 'EROFS'])

/** True if the system or the file system does not allow it: images must unpack without. */
export const notPermitted = (error: unknown) => SOFT.has((error as NodeJS.ErrnoException).code ?? '')

/** Ids that a user namespace does not have cannot be given. */
export function ownerSoftly(setOwner: () => void): void {
  try {
    setOwner()
  } catch (error) {
    if (!['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
