import type { Pod } from '../../api/generated/core-v1.ts'
import type { EventRecorder } from '../../client/events.ts'
import type { Pressure } from '../node/node-object.ts'
import type { PodWorker } from '../pod-worker/pod-worker.ts'
import type { PodWorkers } from '../pod-worker/pod-workers.ts'
import { podReference } from '../pod-worker/worker-context.ts'
import type { NodeUsage } from '../stats/node-usage.ts'
import type { StatsCollector, StatsSample } from '../stats/stats-collector.ts'
import {
  diskThreshold,
  type Eviction,
  type EvictionThresholds,
  evictionOrder,
  lowResourceEviction,
  type PodUsage,
  pressureOf,
  type ScarceResource,
  type StorageUsage,
  storageLimitEviction,
} from './eviction.ts'
import { folderSize } from './folder-size.ts'

export interface EvictionOptions {
  readonly workers: PodWorkers
  readonly stats: StatsCollector
  readonly events: EventRecorder
  readonly thresholds: EvictionThresholds
  readonly onPressure: (pressure: Pressure) => void
  /** Frees disk in gentler ways; whether that was enough. */
  readonly reclaimDisk: (node: NodeUsage) => Promise<boolean>
}

/** Looks whether the node or a pod uses too much, and ends at most one pod for the node's sake each time. */
export class EvictionLoop {
  readonly #options: EvictionOptions

  constructor(options: EvictionOptions) {
    this.#options = options
  }

  async check(): Promise<void> {
    const { stats, thresholds, onPressure, reclaimDisk } = this.#options
    const { sample } = await stats.collect()
    const active = [...this.#options.workers.all()].filter((worker) => worker.isActive && !worker.state.failure)
    await this.#checkLimits(active, sample)
    const pressure = pressureOf(sample.node, thresholds)
    onPressure(pressure)
    if (pressure.memory) await this.#evictOne(active, sample, 'memory')
    else if (pressure.disk && !(await reclaimDisk(sample.node)))
      await this.#evictOne(active, sample, 'ephemeral-storage')
    else if (pressure.pid) await this.#evictOne(active, sample, 'pids')
  }

  async #checkLimits(active: readonly PodWorker[], sample: StatsSample): Promise<void> {
    for (const worker of active) {
      if (!hasStorageLimit(worker.state.pod)) continue
      const eviction = storageLimitEviction(worker.state.pod, await storageUsage(worker, sample))
      if (eviction) this.#evict(worker, eviction, 0)
    }
  }

  async #evictOne(active: readonly PodWorker[], sample: StatsSample, resource: ScarceResource) {
    const usages: (PodUsage & { readonly worker: PodWorker })[] = []
    for (const worker of active) {
      const { pod, uid } = worker.state
      const sandbox = sample.sandboxes.find(({ metadata }) => metadata.uid === uid)
      const storageBytes = resource === 'ephemeral-storage' ? total(await storageUsage(worker, sample)) : 0
      const { memoryWorkingSetBytes: memoryBytes = 0, processes = 0 } = sandbox ?? {}
      usages.push({ worker, pod, memoryBytes, storageBytes, processes })
    }
    const [first] = evictionOrder(usages, resource)
    const worker = usages.find(({ pod }) => pod === first?.pod)?.worker
    if (!worker) return
    this.#evict(worker, lowResourceEviction(resource, ...this.#shortage(sample.node, resource)), 0)
  }

  /** How much there should be, and is. */
  #shortage(node: NodeUsage, resource: ScarceResource): [threshold: string, available: string] {
    const { thresholds } = this.#options
    const kibibytes = (bytes: number) => `${Math.floor(bytes / 1024)}Ki`
    if (resource === 'memory') return [kibibytes(thresholds.memoryAvailableBytes), kibibytes(node.memoryAvailableBytes)]
    if (resource === 'pids') return [String(thresholds.pidsAvailable), String(node.pids.limit - node.pids.running)]
    return [String(Math.floor(diskThreshold(node, thresholds))), kibibytes(node.filesystem.availableBytes)]
  }

  #evict(worker: PodWorker, eviction: Eviction, graceSeconds: number): void {
    this.#options.events.event(podReference(worker.state.pod), 'Warning', eviction.reason, eviction.message)
    worker.fail(eviction, graceSeconds)
  }
}

function hasStorageLimit({ spec }: Pod): boolean {
  return (
    (spec?.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) ||
    (spec?.containers ?? []).some(({ resources }) => resources?.limits?.['ephemeral-storage'] !== undefined)
  )
}

async function storageUsage({ state }: PodWorker, { containers }: StatsSample): Promise<StorageUsage> {
  const byContainer = new Map<string, number>()
  for (const { containerId, name, filesystemUsedBytes } of containers)
    if (state.runtime.containers.some(({ id }) => id === containerId)) byContainer.set(name, filesystemUsedBytes)
  const emptyDirs = new Map<string, number>()
  for (const { name, emptyDir } of state.pod.spec?.volumes ?? []) {
    const mounted = state.volumes.mounted.get(name)
    if (emptyDir && mounted && emptyDir.medium !== 'Memory') emptyDirs.set(name, await folderSize(mounted.path))
  }
  return { containers: byContainer, emptyDirs }
}

const total = ({ containers, emptyDirs }: StorageUsage) =>
  [...containers.values(), ...emptyDirs.values()].reduce((sum, bytes) => sum + bytes, 0)
