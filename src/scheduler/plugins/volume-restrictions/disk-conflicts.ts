import type { Pod, Volume } from '../../../api/generated/core-v1.ts'

/** A disk that a pod names itself, without a claim. */
interface Disk {
  /** Disks with a name in common are the same. */
  readonly names: readonly string[]
  /** May be read by several pods of a node, as long as nobody writes. */
  readonly isReadOnly: boolean
}

/** What the cloud or the network lets be mounted once per node. */
function diskOf({ gcePersistentDisk, awsElasticBlockStore, iscsi, rbd }: Volume): Disk | undefined {
  if (gcePersistentDisk)
    return { names: [`gce ${gcePersistentDisk.pdName}`], isReadOnly: gcePersistentDisk.readOnly ?? false }
  // Not even for reading.
  if (awsElasticBlockStore) return { names: [`aws ${awsElasticBlockStore.volumeID}`], isReadOnly: false }
  if (iscsi) return { names: [`iscsi ${iscsi.iqn}`], isReadOnly: iscsi.readOnly ?? false }
  if (!rbd) return undefined
  const { monitors, pool = 'rbd', image, readOnly = false } = rbd
  return { names: monitors.map((monitor) => `rbd ${monitor} ${pool} ${image}`), isReadOnly: readOnly }
}

const disksOf = (pod: Pod): Disk[] => (pod.spec?.volumes ?? []).flatMap((volume) => diskOf(volume) ?? [])

export const usesDisks = (pod: Pod): boolean => pod.spec?.volumes?.some((volume) => diskOf(volume)) ?? false

/** Whether a pod names a disk that another pod of the node has, unless both only read it. */
export function hasDiskConflict(pod: Pod, others: readonly Pod[]): boolean {
  const wanted = disksOf(pod)
  if (wanted.length === 0) return false
  const used = others.flatMap(disksOf)
  return wanted.some((a) =>
    used.some((b) => !(a.isReadOnly && b.isReadOnly) && a.names.some((name) => b.names.includes(name))),
  )
}
