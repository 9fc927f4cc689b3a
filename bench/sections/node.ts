import type { Pod } from '../../src/api/generated/core-v1.ts'
import { type RealNode, realNode, sh } from '../../tests/kubelet/kubelet-under-test.ts'
import { pause, percentile } from '../measure.ts'
import { mb, ms, type Row, type Section } from '../report.ts'

const PODS = { group: '', version: 'v1', plural: 'pods', namespaced: true }

/** From the creation of a pod to the moment a watch says that it runs, through kubelet and builtin runtime. */
export const nodeSection: Section = {
  name: 'node',
  title: 'Node: kubelet with the builtin runtime, API server and store in the same process',
  async run({ quick }) {
    if (process.getuid?.() !== 0) return []
    const node = await realNode()
    const run = new PodRun(node)
    try {
      const few = await run.atIntervals(quick ? 5 : 30)
      const before = process.memoryUsage().rss
      const many = await run.atOnce(quick ? 20 : 200)
      return [
        few,
        many,
        { what: 'memory of this process after', ours: mb(process.memoryUsage().rss), peer: mb(before), goal: '' },
      ]
    } finally {
      await run.stop()
      await node[Symbol.asyncDispose]()
    }
  },
}

class PodRun {
  readonly #node: RealNode
  readonly #ran = new Map<string, number>()
  readonly #ended = new AbortController()
  readonly #watching: Promise<void>
  #made = 0

  constructor(node: RealNode) {
    this.#node = node
    this.#watching = this.#watch().catch(() => {})
  }

  /** One pod a second, as a cluster in calm sees them. */
  async atIntervals(count: number): Promise<Row> {
    const times: number[] = []
    for (let i = 0; i < count; i++) {
      times.push(...(await this.#start(1)))
      await pause(1000 - Math.min(1000, times.at(-1)!))
    }
    times.sort((a, b) => a - b)
    const ours = `${ms(percentile(times, 0.5))}, ${ms(percentile(times, 0.99))}`
    return { what: `${count} pods, one a second: running after, p50 and p99`, ours, peer: '', goal: 'p99 < 500 ms' }
  }

  async atOnce(count: number): Promise<Row> {
    const times = await this.#start(count)
    return { what: `${count} pods at once: all run after`, ours: ms(Math.max(...times)), peer: '', goal: '200 in 15 s' }
  }

  async stop(): Promise<void> {
    this.#ended.abort()
    await this.#watching
  }

  async #watch(): Promise<void> {
    const pods = this.#node.client.resource<Pod>(PODS).namespace('default')
    for await (const events of pods.watch({ signal: this.#ended.signal }))
      for (const { object } of events) {
        const { metadata, status } = object as Pod
        if (status?.phase === 'Running' && !this.#ran.has(metadata.name!))
          this.#ran.set(metadata.name!, performance.now())
      }
  }

  async #start(count: number): Promise<number[]> {
    const begun = performance.now()
    const names = Array.from({ length: count }, () => `pod-${this.#made++}`)
    await Promise.all(names.map((name) => this.#node.run(name, { containers: [sh('sleep 1000')] })))
    while (names.some((name) => !this.#ran.has(name))) await pause(5)
    return names.map((name) => this.#ran.get(name)! - begun)
  }
}
