import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts'
import type { StorageObjects } from './random-storage.contract.ts'

/** What pods and nodes there are, for the rules of volumes. */
export interface VolumeWorld {
  /** With `spec.nodeName`. */
  readonly pods: readonly Pod[]
  readonly storage: StorageObjects
  /** Whether a node matches a term of a node selector. */
  matches(term: { matchExpressions?: { key: string; operator: string; values?: string[] }[] }, node: Node): boolean
}

const ZONE = 'topology.kubernetes.io/zone'

const claimNames = (pod: Pod) =>
  (pod.spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])

function claimsOf({ storage }: VolumeWorld, pod: Pod): PersistentVolumeClaim[] {
  return claimNames(pod).flatMap((name) => storage.claims.get(`${pod.metadata.namespace}/${name}`) ?? [])
}

const volumeOf = ({ storage }: VolumeWorld, claim: PersistentVolumeClaim) =>
  claim.spec?.volumeName === undefined ? undefined : storage.volumes.get(claim.spec.volumeName)

/** Why a pod cannot run anywhere as its claims are. */
export function claimReason(world: VolumeWorld, pod: Pod): string | undefined {
  for (const name of claimNames(pod)) {
    const claim = world.storage.claims.get(`${pod.metadata.namespace}/${name}`)
    if (!claim) return `persistentvolumeclaim "${name}" not found`
    const isWaiting =
      world.storage.classes.get(claim.spec!.storageClassName!)?.volumeBindingMode === 'WaitForFirstConsumer'
    if (!claim.spec?.volumeName && !isWaiting) return 'pod has unbound immediate PersistentVolumeClaims'
  }
  return undefined
}

/** Why the pod's volumes cannot be on a node. */
export function volumeReason(world: VolumeWorld, pod: Pod, node: Node): string | undefined {
  const claims = claimsOf(world, pod)
  const isTaken = (claim: PersistentVolumeClaim) =>
    claim.spec?.accessModes?.includes('ReadWriteOncePod') &&
    world.pods.some((other) => other.metadata.uid !== pod.metadata.uid && claimsOf(world, other).includes(claim))
  if (claims.some(isTaken))
    return 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'
  if (exceedsLimits(world, pod, node)) return 'node(s) exceed max volume count'
  const volumes = claims.flatMap((claim) => volumeOf(world, claim) ?? [])
  if (!volumes.every((volume) => canBeOn(world, volume, node)))
    return "node(s) didn't match PersistentVolume's node affinity"
  const choice = chooseVolumes(world, pod, node)
  if (typeof choice === 'string') return choice
  const inZone = ({ metadata }: PersistentVolume) =>
    metadata.labels?.[ZONE] === undefined ||
    metadata.labels[ZONE].split('__').some((zone) => zone === node.metadata.labels?.[ZONE])
  return volumes.every(inZone) ? undefined : 'node(s) had no available volume zone'
}

function exceedsLimits(world: VolumeWorld, pod: Pod, node: Node): boolean {
  const attached = (one: Pod) =>
    claimsOf(world, one).flatMap((claim) => {
      const volume = volumeOf(world, claim)
      const { namespace, name } = claim.metadata
      const driver = volume
        ? volume.spec?.csi?.driver
        : world.storage.classes.get(claim.spec!.storageClassName!)?.provisioner
      return [{ driver, handle: volume?.spec?.csi?.volumeHandle ?? `${namespace}/${name}` }]
    })
  const there = world.pods.filter(({ spec }) => spec?.nodeName === node.metadata.name).flatMap(attached)
  const drivers = world.storage.driversOn.get(node.metadata.name!)?.spec?.drivers ?? []
  return drivers.some(({ name, allocatable }) => {
    const handlesOf = (list: typeof there) => list.flatMap(({ driver, handle }) => (driver === name ? [handle] : []))
    const before = new Set(handlesOf(there))
    const after = new Set([...before, ...handlesOf(attached(pod))])
    return allocatable?.count !== undefined && after.size > before.size && after.size > allocatable.count
  })
}

function canBeOn({ matches }: VolumeWorld, { spec }: PersistentVolume, node: Node): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms
  return !terms || terms.some((term) => matches(term, node))
}

const gibibytes = (text: string | number | undefined) => Number.parseInt(String(text ?? 0), 10)
const sizeOf = (claim: PersistentVolumeClaim) => gibibytes(claim.spec?.resources?.requests?.storage)

/** For each claim that waits for its pod, the volume it would get on a node; none where one would be made. */
export type Choice = { claim: PersistentVolumeClaim; volume: PersistentVolume | undefined }[]

/** The smallest claim takes the smallest volume first. */
export function chooseVolumes(world: VolumeWorld, pod: Pod, node: Node): Choice | string {
  const choice: Choice = []
  const waiting = claimsOf(world, pod).filter(({ spec }) => !spec?.volumeName)
  for (const claim of waiting.sort((a, b) => sizeOf(a) - sizeOf(b))) {
    const free = [...world.storage.volumes.values()].filter(
      (volume) =>
        volume.spec?.storageClassName === claim.spec?.storageClassName &&
        !volume.spec?.claimRef &&
        !choice.some((other) => other.volume === volume) &&
        gibibytes(volume.spec?.capacity?.storage) >= sizeOf(claim) &&
        canBeOn(world, volume, node),
    )
    const smallest = Math.min(...free.map(({ spec }) => gibibytes(spec?.capacity?.storage)))
    const volume = free.find(({ spec }) => gibibytes(spec?.capacity?.storage) === smallest)
    const problem = volume ? undefined : whyNotMade(world, claim, node)
    if (problem) return problem
    choice.push({ claim, volume })
  }
  return choice
}

function whyNotMade({ storage }: VolumeWorld, claim: PersistentVolumeClaim, node: Node): string | undefined {
  const { provisioner, allowedTopologies } = storage.classes.get(claim.spec!.storageClassName!)!
  const zone = node.metadata.labels?.[ZONE]
  const isAllowed = allowedTopologies?.some(({ matchLabelExpressions: [one] = [] }) => one!.values.includes(zone ?? ''))
  if (provisioner === 'kubernetes.io/no-provisioner' || isAllowed === false)
    return "node(s) didn't find available persistent volumes to bind"
  if (!storage.drivers.get(provisioner)?.spec?.storageCapacity) return undefined
  const hasRoom = storage.capacities.some(
    ({ storageClassName, capacity, nodeTopology }) =>
      storageClassName === claim.spec?.storageClassName &&
      gibibytes(capacity) >= sizeOf(claim) &&
      nodeTopology?.matchLabels?.[ZONE] === zone,
  )
  return hasRoom ? undefined : 'node(s) did not have enough free storage'
}
