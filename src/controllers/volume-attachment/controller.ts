import { createHash } from 'node:crypto'
import type { AttachedVolume, Pod } from '../../api/generated/core-v1.ts'
import type { VolumeAttachment } from '../../api/generated/storage-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { csiDriverKind } from '../../api/kinds/storage/csi-driver.ts'
import { volumeAttachmentKind } from '../../api/kinds/storage/volume-attachment.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { type Controller, type ControllerContext, type ReconcileResult, watch } from '../controller.ts'
import { claimsOf, podsByClaim } from '../pods-by-claim.ts'
import { podsByNode } from '../pods-by-node.ts'
import { saysOtherwise, UnmountWaits } from './unmount-waits.ts'

/** A volume that a driver has to attach to a node before its pods can mount it. */
interface Attachable {
  readonly attachment: string
  readonly volume: string
  readonly driver: string
}

const attachmentIndexes = { node: ({ spec }: VolumeAttachment) => [spec.nodeName] }
const WORKERS = 4
/** Attachments of other names were made by somebody else, who will know why. */
const OWN_NAME = /^csi-[0-9a-f]{64}$/

/** Asks CSI drivers, by VolumeAttachments, to attach what the pods of a node need, and to detach what they no longer do. */
export function volumeAttachmentController({ client, clock, informers }: ControllerContext): Controller {
  const pods = informers.informer(podKind, { indexes: { ...podsByNode, ...podsByClaim } })
  const claims = informers.informer(persistentVolumeClaimKind)
  const volumes = informers.informer(persistentVolumeKind)
  const drivers = informers.informer(csiDriverKind)
  const nodes = informers.informer(nodeKind)
  const attachments = informers.informer(volumeAttachmentKind, { indexes: attachmentIndexes })
  const resource = client.resource(volumeAttachmentKind)
  const unmounts = new UnmountWaits(clock)

  async function reconcile(node: string): Promise<ReconcileResult | void> {
    const wanted = wantedOn(node)
    const existing = attachments.byIndex('node', node).filter(({ metadata }) => OWN_NAME.test(metadata.name ?? ''))
    for (const one of wanted.values()) await attach(node, one)
    let wait = Number.POSITIVE_INFINITY
    for (const one of existing) {
      const { name = '' } = one.metadata
      if (wanted.has(name)) unmounts.forget(name)
      else wait = Math.min(wait, await detach(node, one))
    }
    await report(node, existing)
    if (Number.isFinite(wait)) return { retryAfter: wait }
  }

  function wantedOn(node: string): Map<string, Attachable> {
    const wanted = new Map<string, Attachable>()
    for (const pod of pods.byIndex('node', node)) {
      if (isOver(pod)) continue
      for (const key of claimsOf(pod)) {
        const one = attachableOf(key, node)
        if (one) wanted.set(one.attachment, one)
      }
    }
    return wanted
  }

  function attachableOf(claim: string, node: string): Attachable | undefined {
    const volume = volumes.get(claims.get(claim)?.spec?.volumeName ?? '')
    const { csi } = volume?.spec ?? {}
    if (!volume || !csi || drivers.get(csi.driver)?.spec?.attachRequired === false) return undefined
    const hash = createHash('sha256').update(`${csi.volumeHandle}${csi.driver}${node}`).digest('hex')
    return { attachment: `csi-${hash}`, volume: volume.metadata.name ?? '', driver: csi.driver }
  }

  async function attach(nodeName: string, { attachment, volume, driver }: Attachable): Promise<void> {
    if (attachments.get(attachment)) return
    const spec = { attacher: driver, nodeName, source: { persistentVolumeName: volume } }
    await resource.create({ metadata: { name: attachment }, spec }).catch(ignore(409))
  }

  /** Answers in how many milliseconds to look again, if that is known. */
  async function detach(nodeName: string, attachment: VolumeAttachment): Promise<number> {
    const { name = '', deletionTimestamp } = attachment.metadata
    if (deletionTimestamp !== undefined) return Number.POSITIVE_INFINITY
    const node = nodes.get(nodeName)
    if (node?.status?.volumesInUse?.includes(uniqueName(attachment))) {
      const wait = unmounts.waitFor(name, node)
      if (wait > 0) return wait
    }
    unmounts.forget(name)
    await resource.delete(name).catch(ignore(404))
    return Number.POSITIVE_INFINITY
  }

  /** The kubelet waits for this list before it mounts. */
  async function report(name: string, existing: readonly VolumeAttachment[]): Promise<void> {
    const node = nodes.get(name)
    if (!node) return
    const attached = existing.filter(({ status, metadata }) => status?.attached && !metadata.deletionTimestamp)
    const list: AttachedVolume[] = attached.map((one) => ({ name: uniqueName(one), devicePath: '' }))
    list.sort((a, b) => (a.name < b.name ? -1 : 1))
    if (deepEqual(list, node.status?.volumesAttached ?? [])) return
    await client.resource(nodeKind).updateStatus({ ...node, status: { ...node.status, volumesAttached: list } })
  }

  function uniqueName({ spec }: VolumeAttachment): string {
    const handle = volumes.get(spec.source.persistentVolumeName ?? '')?.spec?.csi?.volumeHandle ?? ''
    return `kubernetes.io/csi/${spec.attacher}^${handle}`
  }

  const nodesOfClaim = (key: string) => pods.byIndex('claim', key).flatMap(({ spec }) => spec?.nodeName ?? [])

  return {
    name: 'persistentvolume-attach-detach-controller',
    workers: WORKERS,
    watches: [
      watch(pods, (old, current) => {
        const pod = (current ?? old)!
        const isNews =
          !current || !old || isOver(old) !== isOver(current) || old.spec?.nodeName !== current.spec?.nodeName
        return isNews && pod.spec?.nodeName && claimsOf(pod).length > 0 ? [pod.spec.nodeName] : []
      }),
      watch(claims, (old, current) =>
        current && old?.spec?.volumeName !== current.spec?.volumeName
          ? nodesOfClaim(`${current.metadata.namespace}/${current.metadata.name}`)
          : [],
      ),
      watch(volumes, (_old, current) => {
        const { namespace, name } = current?.spec?.claimRef ?? {}
        return current?.spec?.csi && name ? nodesOfClaim(`${namespace}/${name}`) : []
      }),
      watch(attachments, (old, current) => {
        if (!current) unmounts.forget(old!.metadata.name ?? '')
        return [(current ?? old)!.spec.nodeName]
      }),
      watch(drivers, () => []),
      watch(nodes, (old, current) =>
        current &&
        (!deepEqual(old?.status?.volumesInUse, current.status?.volumesInUse) || (old && saysOtherwise(old, current)))
          ? [current.metadata.name ?? '']
          : [],
      ),
    ],
    reconcile,
  }
}

const isOver = ({ status }: Pod) => status?.phase === 'Succeeded' || status?.phase === 'Failed'

const ignore = (code: number) => (error: unknown) => {
  if (!(error instanceof ApiError && error.code === code)) throw error
}
