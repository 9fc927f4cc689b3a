import { mkdir } from 'node:fs/promises'

/** What volumes need of the kernel. Every call may be repeated. */
export interface Mounter {
  /** Whether it mounts at all; one that does not uses plain folders, and memory volumes are on disk. */
  readonly canMount: boolean
  /** A filesystem in memory at this folder, at most so big if a size is given. */
  mountTmpfs(path: string, sizeBytes?: number): Promise<void>
  /** `source` (a path, `/proc/<pid>/fd/<n>` included) shows at `target`, which exists. */
  bind(source: string, target: string): Promise<void>
  unmount(path: string): Promise<void>
  /** All mount points at or below a folder, the deepest first. */
  mountsUnder(path: string): Promise<readonly string[]>
}

/** Mounts nothing: for nodes without the privilege, and for tests. */
export const folderMounter: Mounter = {
  canMount: false,
  async mountTmpfs(path) {
    await mkdir(path, { recursive: true })
  },
  async bind() {
    throw new Error('this node cannot mount')
  },
  async unmount() {},
  async mountsUnder() {
    return []
  },
}
