import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { SerialLoop } from '../../base/serial-loop.ts'
import type { EventRecorder } from '../../client/events.ts'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'
import { DEFAULT_THRESHOLDS, type EvictionThresholds } from '../eviction/eviction.ts'
import { EvictionLoop } from '../eviction/eviction-loop.ts'
import {
  DEFAULT_IMAGE_LIMITS,
  type ImageCollectionLimits,
  imagesToRemove,
  removeImages,
} from '../images/garbage-collection.ts'
import { DEFAULT_ROTATION, rotateLog } from '../logs/rotate-logs.ts'
import type { Pressure } from '../node/node-object.ts'
import type { PodWorkers } from '../pod-worker/pod-workers.ts'
import type { NodeUsage } from '../stats/node-usage.ts'
import type { StatsCollector } from '../stats/stats-collector.ts'

export interface HousekeepingOptions {
  readonly runtime: ContainerRuntime
  readonly workers: PodWorkers
  readonly stats: StatsCollector
  readonly podLogsDir: string
  readonly events: EventRecorder
  readonly clock: Clock
  readonly log: Logger
  readonly thresholds?: EvictionThresholds
  /** When images were last used, by id. */
  readonly imagesLastUsed: ReadonlyMap<string, number>
  readonly imageLimits?: ImageCollectionLimits
  readonly onPressure: (pressure: Pressure) => void
}

const INTERVAL = 10_000
const IMAGE_INTERVAL = 300_000

/** What a node does besides running pods: it keeps logs small, images few, and evicts when it runs short. */
export class Housekeeping {
  readonly #options: HousekeepingOptions
  readonly #loop: SerialLoop
  readonly #eviction: EvictionLoop
  readonly #imageLimits: ImageCollectionLimits
  #imagesAt = 0

  constructor(options: HousekeepingOptions) {
    const { clock, log, workers, stats, events, onPressure, thresholds = DEFAULT_THRESHOLDS } = options
    this.#options = options
    this.#imageLimits = options.imageLimits ?? DEFAULT_IMAGE_LIMITS
    this.#eviction = new EvictionLoop({
      workers,
      stats,
      events,
      thresholds,
      onPressure,
      reclaimDisk: (node) => this.#removeImages(node, 0),
    })
    this.#loop = new SerialLoop({
      clock,
      retry: { first: INTERVAL, longest: INTERVAL },
      run: () => this.#run(),
      onError: (error) => log.warn('housekeeping failed', { error: String(error) }),
    })
  }

  start(): void {
    this.#loop.wake()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #run(): Promise<number> {
    const { clock, stats } = this.#options
    await this.#rotateLogs()
    await this.#eviction.check()
    if (clock.now() - this.#imagesAt >= IMAGE_INTERVAL) {
      this.#imagesAt = clock.now()
      await this.#removeImages((await stats.collect()).sample.node, this.#imageLimits.highFraction)
    }
    return clock.now() + INTERVAL
  }

  async #rotateLogs(): Promise<void> {
    const { runtime, workers, clock, log, podLogsDir } = this.#options
    for (const { state } of workers.all())
      for (const { id, state: is, logPath } of state.runtime.containers)
        if (is === 'RUNNING')
          await rotateLog(runtime, id, { podLogsDir, file: logPath }, DEFAULT_ROTATION, clock.now()).catch(
            (error: unknown) => {
              log.warn('a log could not be rotated', { file: logPath, error: String(error) })
            },
          )
  }

  /** Whether something was removed. */
  async #removeImages({ filesystem }: NodeUsage, highFraction: number): Promise<boolean> {
    const { runtime, workers, imagesLastUsed, clock } = this.#options
    const inUse = new Set<string>()
    for (const { state } of workers.all())
      for (const { imageId, imageVolumes = [] } of state.runtime.containers)
        for (const id of [imageId, ...imageVolumes]) inUse.add(id)
    const limits = { ...this.#imageLimits, highFraction }
    const images = await runtime.images.list()
    const chosen = imagesToRemove(images, inUse, imagesLastUsed, filesystem, limits, clock.now())
    await removeImages(runtime.images, chosen)
    return chosen.length > 0
  }
}
