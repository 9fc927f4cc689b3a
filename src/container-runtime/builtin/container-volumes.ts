import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { RuntimeError } from '../runtime.ts'
import type { ContainerStart } from './container-start.ts'
import { kindOf } from './devices.ts'
import type { Volume } from './root-filesystem.ts'

/** The image's own mounts, the pod's /etc files, then the volumes; a volume at the same place wins. */
export function volumesOf({ image, imageVolumes, record, sandboxFolder, folder }: ContainerStart): Volume[] {
  const etc = ['hostname', 'resolv.conf'].map((name) => ({
    containerPath: `/etc/${name}`,
    hostPath: path.join(sandboxFolder, name),
    readonly: record.config.security.readonlyRootfs,
    propagation: 'PRIVATE' as const,
  }))
  const ofImage = image.mounts.map((mount) => ({ ...mount, isOfImage: true }))
  const byTarget = new Map<string, Omit<Volume, 'kind'>>(
    [...ofImage, ...etc, ...record.config.mounts].map((mount) => [mount.containerPath, mount]),
  )
  return [...byTarget.values()].map((mount, i) => {
    if (mount.image) {
      const place = path.join(folder, 'images', String(i))
      mkdirSync(place, { recursive: true })
      const { layers } = imageVolumes.get(mount.image.id)!
      return { ...mount, kind: 'folder', isOfImage: true, tree: { layers, place, subPath: mount.image.subPath ?? '.' } }
    }
    return { ...mount, kind: kindOf(mount.hostPath) ?? madeFolder(mount.hostPath) }
  })
}

/** A path that is not there becomes a folder, as with other runtimes: so works a hostPath without a type. */
function madeFolder(hostPath: string): 'folder' {
  try {
    mkdirSync(hostPath, { recursive: true, mode: 0o755 })
    return 'folder'
  } catch (error) {
    const message = `failed to mount "${hostPath}": ${(error as Error).message}`
    throw new RuntimeError('InvalidArgument', message, { cause: error })
  }
}
