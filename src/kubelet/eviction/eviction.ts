import type { Pod } from '../../api/generated/core-v1.ts'
import { parseAmount } from '../../api/kinds/core/pod/resources.ts'
import { value } from '../../api/meta/quantity.ts'
import type { Pressure } from '../node/node-object.ts'
import { podRequests } from '../pod-worker/admission.ts'
import type { NodeUsage } from '../stats/node-usage.ts'

/** When a node has too little of something. Fractions are of what there is. */
export interface EvictionThresholds {
  readonly memoryAvailableBytes: number
  readonly diskAvailableFraction: number
  /** Instead of the fraction, where what matters is how much can still be written. */
  readonly diskAvailableBytes?: number
  readonly inodesFreeFraction: number
  /** How many processes must still be possible; not looked at without. */
  readonly pidsAvailable?: number
}

export const DEFAULT_THRESHOLDS: EvictionThresholds = {
  memoryAvailableBytes: 100 * 1024 * 1024,
  diskAvailableFraction: 0.1,
  inodesFreeFraction: 0.05,
}

export function pressureOf(node: NodeUsage, limits: EvictionThresholds): Pressure {
  const { capacityBytes, availableBytes, inodes, inodesFree } = node.filesystem
  const { limit, running } = node.pids
  return {
    memory: node.memoryTotalBytes > 0 && node.memoryAvailableBytes < limits.memoryAvailableBytes,
    disk:
      (capacityBytes > 0 && availableBytes < diskThreshold(node, limits)) ||
      (inodes > 0 && inodesFree / inodes < limits.inodesFreeFraction),
    pid: limits.pidsAvailable !== undefined && limit > 0 && limit - running < limits.pidsAvailable,
  }
}

/** The bytes below which a disk is too full. */
export const diskThreshold = ({ filesystem }: NodeUsage, limits: EvictionThresholds) =>
  limits.diskAvailableBytes ?? filesystem.capacityBytes * limits.diskAvailableFraction

export type ScarceResource = 'memory' | 'ephemeral-storage' | 'pids'

export interface PodUsage {
  readonly pod: Pod
  readonly memoryBytes: number
  readonly storageBytes: number
  readonly processes: number
}

const CRITICAL_PRIORITY = 2_000_000_000

/** Who goes first: those above what they asked for, then the less important, then those furthest above. */
export function evictionOrder(pods: readonly PodUsage[], resource: ScarceResource): PodUsage[] {
  const used = (one: PodUsage) =>
    resource === 'memory' ? one.memoryBytes : resource === 'pids' ? one.processes : one.storageBytes
  const over = (one: PodUsage) => used(one) - (podRequests(one.pod).get(resource) ?? 0)
  return pods
    .filter(({ pod }) => (pod.spec?.priority ?? 0) < CRITICAL_PRIORITY)
    .sort(
      (a, b) =>
        Number(over(b) > 0) - Number(over(a) > 0) ||
        (a.pod.spec?.priority ?? 0) - (b.pod.spec?.priority ?? 0) ||
        over(b) - over(a),
    )
}

export interface Eviction {
  readonly reason: 'Evicted'
  readonly message: string
}

const evicted = (message: string): Eviction => ({ reason: 'Evicted', message })

export function lowResourceEviction(resource: ScarceResource, threshold: string, available: string) {
  return evicted(
    `The node was low on resource: ${resource}. Threshold quantity: ${threshold}, available: ${available}. `,
  )
}

/** What a pod uses on disk, by container and by emptyDir volume. */
export interface StorageUsage {
  readonly containers: ReadonlyMap<string, number>
  readonly emptyDirs: ReadonlyMap<string, number>
}

/** A pod that uses more of the disk than it said it would goes, whatever the node has left. */
export function storageLimitEviction({ spec }: Pod, usage: StorageUsage): Eviction | undefined {
  for (const { name, emptyDir } of spec?.volumes ?? []) {
    const limit = emptyDir?.sizeLimit === undefined ? undefined : parseAmount(emptyDir.sizeLimit)
    if (limit && value(limit) > 0 && (usage.emptyDirs.get(name) ?? 0) > value(limit))
      return evicted(`Usage of EmptyDir volume "${name}" exceeds the limit "${emptyDir?.sizeLimit}". `)
  }
  let podLimit = 0
  let podUsed = 0
  let isLimited = true
  for (const { name, resources } of spec?.containers ?? []) {
    const written = resources?.limits?.['ephemeral-storage']
    const limit = written === undefined ? undefined : parseAmount(written)
    const used = usage.containers.get(name) ?? 0
    podUsed += used
    if (!limit) isLimited = false
    else podLimit += value(limit)
    if (limit && used > value(limit))
      return evicted(`Container ${name} exceeded its local ephemeral storage limit "${written}". `)
  }
  for (const bytes of usage.emptyDirs.values()) podUsed += bytes
  if (isLimited && podLimit > 0 && podUsed > podLimit)
    return evicted(`Pod ephemeral local storage usage exceeds the total limit of containers ${podLimit}. `)
  return undefined
}
