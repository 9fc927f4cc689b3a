import type { Node, Pod, Volume } from '../../api/generated/core-v1.ts'
import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../client/client.ts'
import type { ConfigSource } from '../environment/environment.ts'
import type { Mounter } from '../mounter.ts'

export interface VolumeContext {
  readonly client: Client
  readonly clock: Clock
  readonly source: ConfigSource
  readonly mounter: Mounter
  readonly node: () => Node | undefined
}

export interface VolumeInput {
  readonly context: VolumeContext
  readonly pod: Pod
  readonly volume: Volume
  /** The volume's own folder below the pod's; not made yet. */
  readonly directory: string
}

export interface MountedVolume {
  /** What containers mount. */
  readonly path: string
  /** When its content is worth looking at again, if not only after a change. */
  readonly refreshAt?: number
  /** Nobody may write to it, whatever the mount says. */
  readonly readOnly?: boolean
  /** Whether fsGroup has to be applied to it: not to what belongs to the node. */
  readonly ownedByPod: boolean
  /** It is an image, which the runtime mounts in place of a path. */
  readonly image?: { readonly reference: string; readonly pullPolicy?: string }
}

/** One kind of volume. `mount` may be called again at any time: it makes the volume be as it should now. */
export interface VolumePlugin {
  /** The folder's name for volumes of this kind: `kubernetes.io~empty-dir`. */
  readonly name: string
  supports(volume: Volume): boolean
  mount(input: VolumeInput): Promise<MountedVolume>
}

export const fsGroupOf = ({ spec }: Pod): number | undefined => spec?.securityContext?.fsGroup
