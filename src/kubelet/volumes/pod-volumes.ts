import path from 'node:path'
import type { Pod, Volume } from '../../api/generated/core-v1.ts'
import { removeTree } from '../../linux/remove-tree.ts'
import { rootMatches, setGroup } from './ownership.ts'
import { volumePlugins } from './plugins.ts'
import { forgetTokens } from './projected/service-account-token.ts'
import { fsGroupOf, type MountedVolume, type VolumeContext } from './volume-plugin.ts'

/** A volume that could not be made ready. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError'

  constructor(volume: string, reason: string) {
    super(`MountVolume.SetUp failed for volume "${volume}" : ${reason}`)
  }
}

/** The volumes of one pod. They outlive its containers and go with it. */
export class PodVolumes {
  readonly #context: VolumeContext
  readonly #podDirectory: string
  #mounted: ReadonlyMap<string, MountedVolume> = new Map()

  /** `podDirectory` is `<root>/pods/<uid>`. */
  constructor(context: VolumeContext, podDirectory: string) {
    this.#context = context
    this.#podDirectory = podDirectory
  }

  get mounted(): ReadonlyMap<string, MountedVolume> {
    return this.#mounted
  }

  /** When the content of one of them has to be looked at again. */
  get refreshAt(): number | undefined {
    const times = [...this.#mounted.values()].flatMap(({ refreshAt }) => refreshAt ?? [])
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Makes all of them be as they should now; the first that cannot be is the error. */
  async mountAll(pod: Pod): Promise<void> {
    const volumes = pod.spec?.volumes ?? []
    const used = usedVolumes(pod)
    const results = await Promise.allSettled(
      volumes.filter(({ name }) => used.has(name)).map((volume) => this.#mount(pod, volume)),
    )
    const mounted = new Map<string, MountedVolume>()
    for (const result of results) if (result.status === 'fulfilled') mounted.set(...result.value)
    this.#mounted = mounted
    const failed = results.find((result) => result.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** The pod has ended: its volumes go, what else there is of it stays for whoever asks. */
  async unmountAll(podUid: string): Promise<void> {
    await this.#unmount(podUid)
    for (const folder of ['volumes', 'volume-subpaths']) await removeTree(path.join(this.#podDirectory, folder))
  }

  /** Removes everything of the pod from the node. */
  async removeAll(podUid: string): Promise<void> {
    await this.#unmount(podUid)
    await removeTree(this.#podDirectory)
  }

  /** What is still mounted must never be deleted through. */
  async #unmount(podUid: string): Promise<void> {
    const { mounter } = this.#context
    this.#mounted = new Map()
    forgetTokens(this.#context, podUid)
    for (const mount of await mounter.mountsUnder(this.#podDirectory)) await mounter.unmount(mount)
    const left = await mounter.mountsUnder(this.#podDirectory)
    if (left.length > 0) throw new Error(`still mounted: ${left.join(', ')}`)
  }

  async #mount(pod: Pod, volume: Volume): Promise<[string, MountedVolume]> {
    const plugin = volumePlugins.find((one) => one.supports(volume))
    try {
      if (!plugin) throw new Error('no volume plugin matched')
      const directory = path.join(this.#podDirectory, 'volumes', plugin.name, volume.name)
      const mounted = await plugin.mount({ context: this.#context, pod, volume, directory })
      await this.#setOwnership(pod, volume.name, mounted)
      return [volume.name, mounted]
    } catch (error) {
      throw new VolumeError(volume.name, (error as Error).message)
    }
  }

  async #setOwnership(pod: Pod, name: string, { path: target, ownedByPod, readOnly = false }: MountedVolume) {
    const group = fsGroupOf(pod)
    if (group === undefined || !ownedByPod) return
    const isKnown = this.#mounted.has(name)
    const onMismatch = pod.spec?.securityContext?.fsGroupChangePolicy === 'OnRootMismatch'
    // What containers write meanwhile is theirs; only content that we write anew needs its group.
    if (isKnown && !readOnly) return
    if (onMismatch && (await rootMatches(target, group, readOnly))) return
    await setGroup(target, group, readOnly)
  }
}

/** A volume that no container mounts is not made, as upstream does it. */
function usedVolumes({ spec }: Pod): ReadonlySet<string> {
  const used = new Set<string>()
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? []), ...(spec?.ephemeralContainers ?? [])]
  for (const { volumeMounts = [], volumeDevices = [] } of all)
    for (const { name } of [...volumeMounts, ...volumeDevices]) used.add(name)
  return used
}
