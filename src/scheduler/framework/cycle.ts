import type { ClusterState } from '../cache/cluster-state.ts'
import type { CycleContext } from '../plugin.ts'

/** One attempt. Most leave nothing from hook to hook. */
export class Cycle implements CycleContext {
  readonly cluster: ClusterState
  #data: Map<string, unknown> | undefined

  constructor(cluster: ClusterState) {
    this.cluster = cluster
  }

  get data(): Map<string, unknown> {
    this.#data ??= new Map()
    return this.#data
  }
}
