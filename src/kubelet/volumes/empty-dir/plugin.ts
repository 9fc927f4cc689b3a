import { chmod, mkdir } from 'node:fs/promises'
import { parseAmount } from '../../../api/kinds/core/pod/resources.ts'
import { value } from '../../../api/meta/quantity.ts'
import type { VolumePlugin } from '../volume-plugin.ts'

/** A folder that lives as long as the pod, on disk or in memory. */
export const emptyDirPlugin: VolumePlugin = {
  name: 'kubernetes.io~empty-dir',
  supports: (volume) => volume.emptyDir !== undefined,
  async mount({ volume, directory, context }) {
    const { medium, sizeLimit } = volume.emptyDir!
    let isNew = (await mkdir(directory, { recursive: true })) !== undefined
    if (medium === 'Memory') {
      const mounted = await context.mounter.mountsUnder(directory)
      const limit = sizeLimit === undefined ? undefined : parseAmount(sizeLimit)
      if (!mounted.includes(directory)) {
        await context.mounter.mountTmpfs(directory, limit && value(limit))
        isNew = true
      }
    }
    // The mode of mkdir is cut by the umask. Later it is the pod's own to change.
    if (isNew) await chmod(directory, 0o777)
    return { path: directory, ownedByPod: true }
  },
}
