import type { Pod } from '../../src/api/generated/core-v1.ts'
import { openCgroups } from '../../src/linux/cgroups.ts'
import { type RealNode, sh } from '../../tests/kubelet/kubelet-under-test.ts'
import { pause, percentile } from '../measure.ts'
import { ms, type Row } from '../report.ts'

const PODS = { group: '', version: 'v1', plural: 'pods', namespaced: true }

/** Pods of one node, and the moments at which a watch says that they run. */
export class PodRun {
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

  async atOnce(count: number): Promise<Row[]> {
    const { cgroupRoot } = this.#node
    const used = () => process.cpuUsage().user / 1e3 + process.cpuUsage().system / 1e3
    const inPods = () => (openCgroups({ root: cgroupRoot }).stats('')?.cpuNanoseconds ?? 0) / 1e6
    const before = [used(), inPods()] as const
    const times = await this.#start(count)
    const cpu = `${ms((used() - before[0]) / count)}, ${ms((inPods() - before[1]) / count)}`
    return [
      { what: `${count} pods at once: all run after`, ours: ms(Math.max(...times)), peer: '', goal: '200 in 15 s' },
      { what: 'CPU for each: this process, and in the pod itself', ours: cpu, peer: '', goal: '' },
    ]
  }

  /** A command through the kubelet, on a node that is full of pods. */
  async exec(count: number): Promise<Row> {
    const times: number[] = []
    for (let i = 0; i < count; i++) {
      const begun = performance.now()
      const { code } = await this.#node.exec(`pod-${i % this.#made}`, ['true'])
      if (code !== 0) throw new Error(`exec ended with ${code}`)
      times.push(performance.now() - begun)
    }
    times.sort((a, b) => a - b)
    const ours = `${ms(percentile(times, 0.5))}, ${ms(percentile(times, 0.99))}`
    return { what: `exec of true, ${this.#made} pods: p50 and p99`, ours, peer: '', goal: 'p50 < 50 ms' }
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
