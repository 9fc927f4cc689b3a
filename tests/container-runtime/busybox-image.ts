/** An image made on the spot from Debian's busybox-static: one folder, no registry. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ImageContents } from '../../src/container-runtime/image-content.ts'
import type { Image, ImageService } from '../../src/container-runtime/image-service.ts'
import { RuntimeError } from '../../src/container-runtime/runtime.ts'

const BUSYBOX = '/bin/busybox'
export const BUSYBOX_IMAGE = 'test.local/busybox'
export const BUSYBOX_CONFIG = {
  user: '',
  env: ['PATH=/bin'],
  entrypoint: [],
  command: ['sh'],
  workingDir: '',
  stopSignal: '',
}

export function makeBusyboxRoot(root: string): void {
  for (const folder of ['bin', 'etc', 'tmp', 'var', 'run']) mkdirSync(path.join(root, folder), { recursive: true })
  cpSync(BUSYBOX, path.join(root, 'bin/busybox'))
  for (const name of execFileSync(BUSYBOX, ['--list'], { encoding: 'utf8' }).split('\n'))
    if (name && name !== 'busybox') symlinkSync('busybox', path.join(root, 'bin', name))
  writeFileSync(
    path.join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n',
  )
  writeFileSync(path.join(root, 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n')
}

/** Images that are folders, the topmost layer first. */
export function folderImages(folders: Readonly<Record<string, readonly string[]>>): ImageService & ImageContents {
  const imageOf = (id: string): Image => ({ id, repoTags: [id], repoDigests: [], size: 0, pinned: false })
  const unsupported = async () => {
    throw new RuntimeError('Unimplemented', 'images of these tests are folders')
  }
  return {
    list: async () => Object.keys(folders).map(imageOf),
    status: async (id) => (folders[id] ? imageOf(id) : undefined),
    pull: async (id) => imageOf(id),
    remove: async () => {},
    import: unsupported,
    fsInfo: async () => ({ mountpoint: '/', usedBytes: 0, inodesUsed: 0 }),
    async content(id) {
      const layers = folders[id]
      if (!layers) throw new RuntimeError('NotFound', `image "${id}" not found`)
      return { layers, mounts: [], config: BUSYBOX_CONFIG }
    },
  }
}
