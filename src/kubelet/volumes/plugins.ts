import { configMapPlugin } from './config-map/plugin.ts'
import { downwardApiPlugin } from './downward-api/plugin.ts'
import { emptyDirPlugin } from './empty-dir/plugin.ts'
import { hostPathPlugin } from './host-path/plugin.ts'
import { imagePlugin } from './image/plugin.ts'
import { persistentVolumeClaimPlugin } from './persistent-volume-claim/plugin.ts'
import { projectedPlugin } from './projected/plugin.ts'
import { secretPlugin } from './secret/plugin.ts'
import type { VolumePlugin } from './volume-plugin.ts'

/** Every kind of volume this kubelet knows; the first that supports a volume has it. */
export const volumePlugins: readonly VolumePlugin[] = [
  emptyDirPlugin,
  hostPathPlugin,
  configMapPlugin,
  secretPlugin,
  downwardApiPlugin,
  projectedPlugin,
  persistentVolumeClaimPlugin,
  imagePlugin,
]
