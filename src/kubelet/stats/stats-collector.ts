import type { Clock } from '../../base/clock.ts'
import type { ContainerRuntime, ContainerStats, PodSandboxStats } from '../../container-runtime/runtime.ts'
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from '../pod/runtime-labels.ts'
import { type NodeUsage, readNodeUsage } from './node-usage.ts'

/** All figures of one moment. */
export interface StatsSample {
  readonly timestamp: number
  readonly node: NodeUsage
  readonly containers: readonly ContainerStats[]
  readonly sandboxes: readonly PodSandboxStats[]
}

export interface StatsView {
  readonly sample: StatsSample
  /** Nanoseconds of CPU per second, by container id, sandbox id or `node`; once there were two samples. */
  readonly rates: ReadonlyMap<string, number>
}

/** Samples younger than this are used again; rates are taken over at least as long. */
const FRESH = 5000

export class StatsCollector {
  readonly #runtime: ContainerRuntime
  readonly #clock: Clock
  readonly #rootDir: string
  #before: StatsSample | undefined
  #latest: StatsSample | undefined
  #collecting: Promise<StatsSample> | undefined

  constructor(runtime: ContainerRuntime, clock: Clock, rootDir: string) {
    this.#runtime = runtime
    this.#clock = clock
    this.#rootDir = rootDir
  }

  async collect(): Promise<StatsView> {
    const now = this.#clock.now()
    if (!this.#latest || now - this.#latest.timestamp >= FRESH) {
      this.#collecting ??= this.#take(now).finally(() => {
        this.#collecting = undefined
      })
      await this.#collecting
    }
    return { sample: this.#latest!, rates: rates(this.#before, this.#latest!) }
  }

  async #take(now: number): Promise<StatsSample> {
    const [node, containers, sandboxes] = await Promise.all([
      readNodeUsage(this.#rootDir, now),
      this.#runtime.stats(),
      this.#runtime.sandboxStats(),
    ])
    this.#before = this.#latest
    this.#latest = { timestamp: now, node, containers, sandboxes }
    return this.#latest
  }
}

function rates(before: StatsSample | undefined, after: StatsSample): Map<string, number> {
  const found = new Map<string, number>()
  if (!before) return found
  const known = new Map<string, { timestamp: number; cpuNanoseconds: number }>()
  for (const one of before.containers) known.set(one.containerId, one)
  for (const one of before.sandboxes) known.set(one.sandboxId, one)
  known.set('node', before.node)
  const add = (id: string, now: { timestamp: number; cpuNanoseconds: number }) => {
    const then = known.get(id)
    const seconds = then ? (now.timestamp - then.timestamp) / 1000 : 0
    if (then && seconds > 0 && now.cpuNanoseconds >= then.cpuNanoseconds)
      found.set(id, Math.round((now.cpuNanoseconds - then.cpuNanoseconds) / seconds))
  }
  for (const one of after.containers) add(one.containerId, one)
  for (const one of after.sandboxes) add(one.sandboxId, one)
  add('node', after.node)
  return found
}

export interface PodIdentity {
  readonly name: string
  readonly namespace: string
  readonly uid: string
}

export const podOf = ({ labels }: ContainerStats): PodIdentity => ({
  name: labels[POD_NAME_LABEL] ?? '',
  namespace: labels[POD_NAMESPACE_LABEL] ?? '',
  uid: labels[POD_UID_LABEL] ?? '',
})
