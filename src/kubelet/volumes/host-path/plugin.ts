import type { Stats } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import type { VolumePlugin } from '../volume-plugin.ts'

const CHECKS: Record<string, { readonly holds: (found: Stats) => boolean; readonly text: string }> = {
  Directory: { holds: (found) => found.isDirectory(), text: 'a directory' },
  File: { holds: (found) => found.isFile(), text: 'a file' },
  Socket: { holds: (found) => found.isSocket(), text: 'a socket file' },
  CharDevice: { holds: (found) => found.isCharacterDevice(), text: 'a character device' },
  BlockDevice: { holds: (found) => found.isBlockDevice(), text: 'a block device' },
}

/** A path of the node. */
export const hostPathPlugin: VolumePlugin = {
  name: 'kubernetes.io~host-path',
  supports: (volume) => volume.hostPath !== undefined,
  async mount({ volume }) {
    const { path, type = '' } = volume.hostPath!
    await checkHostPath(path, type)
    return { path, ownedByPod: false }
  },
}

/** Makes what is to be made, and says no to what is not as it should be. */
export async function checkHostPath(path: string, type: string): Promise<void> {
  if (type === '') return
  const found = await stat(path).catch(() => undefined)
  if (type === 'DirectoryOrCreate' && !found) {
    await mkdir(path, { recursive: true, mode: 0o755 })
    return
  }
  if (type === 'FileOrCreate' && !found) {
    // Never what a dangling link points to.
    await (await open(path, 'wx', 0o644)).close()
    return
  }
  const check = CHECKS[type.replace('OrCreate', '')]
  if (!check) throw new Error(`${type} is an invalid volume type`)
  if (!found || !check.holds(found)) throw new Error(`hostPath type check failed: ${path} is not ${check.text}`)
}
