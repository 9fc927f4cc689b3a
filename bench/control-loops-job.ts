import { nodeKind } from '../src/api/kinds/core/node/kind.ts'
import { podKind } from '../src/api/kinds/core/pod/kind.ts'
import { serviceKind } from '../src/api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../src/api/kinds/discovery/endpoint-slice.ts'
import { startCluster, type TestCluster } from '../src/testing/index.ts'

/**
 * Runs in a process of its own: `node control-loops-job.js <nodes> <pods>`, `start`, or
 * `endpoints <n>`. Prints one line of JSON.
 */

export interface ScaleResult {
  /** Seconds of wall time and of processor time. */
  nodesReady: number
  podsRunning: number
  processor: number
  residentBytes: number
}

const CREATORS = 64
const seconds = (since: number) => (performance.now() - since) / 1000

async function scale(nodes: number, pods: number): Promise<ScaleResult> {
  const begin = performance.now()
  const cluster = await startCluster({ nodes })
  const nodesReady = seconds(begin)
  const created = performance.now()
  const running = countRunning(cluster, pods)
  await createPods(cluster, pods)
  await running
  const podsRunning = seconds(created)
  const { user, system } = process.cpuUsage()
  const residentBytes = process.memoryUsage.rss()
  await cluster.dispose()
  return { nodesReady, podsRunning, processor: (user + system) / 1e6, residentBytes }
}

async function createPods({ client }: TestCluster, count: number): Promise<void> {
  const pods = client.resource(podKind).namespace('default')
  let next = 0
  const create = async () => {
    while (next < count) {
      const resources = { requests: { cpu: '10m', memory: '16Mi' } }
      const containers = [{ name: 'c', image: 'nginx', resources }]
      await pods.create({ metadata: { name: `pod-${next++}`, labels: { app: 'bench' } }, spec: { containers } })
    }
  }
  await Promise.all(Array.from({ length: CREATORS }, create))
}

async function countRunning({ client }: TestCluster, count: number): Promise<void> {
  const stop = new AbortController()
  const running = new Set<string>()
  for await (const batch of client.resource(podKind).watch({ signal: stop.signal })) {
    for (const { object } of batch) if (object.status?.phase === 'Running') running.add(object.metadata.name ?? '')
    if (running.size >= count) return stop.abort()
  }
}

export interface EndpointsResult {
  /** Of one pod's change, the write of its own status included: microseconds of processor time. */
  processor: number
  sliceWrites: number
}

/** A Service with so many endpoints, of which one after the other is no longer ready. */
async function endpoints(count: number): Promise<EndpointsResult> {
  const controllers = ['endpointslice-controller', 'endpoints-controller']
  await using cluster = await startCluster({ nodes: 0, controllers })
  const pods = cluster.client.resource(podKind).namespace('default')
  const spec = { containers: [{ name: 'c', image: 'nginx' }], nodeName: 'node' }
  const setReady = (i: number, status: 'True' | 'False') => {
    const ip = `10.0.${i >> 8}.${i & 255}`
    const conditions = [{ type: 'Ready', status }]
    const body = { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions } }
    return pods.patch(`pod-${i}`, body, { subresource: 'status' })
  }
  await cluster.client.resource(nodeKind).create({ metadata: { name: 'node' } })
  for (let i = 0; i < count; i++) {
    await pods.create({ metadata: { name: `pod-${i}`, labels: { app: 'web' } }, spec })
    await setReady(i, 'True')
  }
  const services = cluster.client.resource(serviceKind).namespace('default')
  await services.create({ metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
  await cluster.settled()
  const slices = new SliceWrites(cluster)
  await slices.next()
  // Pods of all slices, each once; the first ones warm up. So many that full garbage collections count with their share.
  const [warmUps, changes] = [count / 5, (count * 4) / 5]
  const change = async (i: number) => {
    const written = slices.next()
    await setReady((i * 97) % count, 'False')
    await written
  }
  for (let i = 0; i < warmUps; i++) await change(i)
  const [before, begin] = [slices.count, process.cpuUsage()]
  for (let i = 0; i < changes; i++) await change(warmUps + i)
  const { user, system } = process.cpuUsage(begin)
  await cluster.settled()
  const sliceWrites = (slices.count - before) / changes
  await slices.stop()
  return { processor: (user + system) / changes, sliceWrites }
}

/** Counts changes of EndpointSlices, and tells of each. */
class SliceWrites {
  count = 0
  readonly #end = new AbortController()
  readonly #counting: Promise<void>
  #told = () => {}

  constructor({ client }: TestCluster) {
    this.#counting = this.#follow(client)
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#told = resolve
    })
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.#counting
  }

  async #follow(client: TestCluster['client']): Promise<void> {
    for await (const batch of client.resource(endpointSliceKind).watch({ signal: this.#end.signal })) {
      this.count += batch.filter(({ type }) => type === 'MODIFIED').length
      this.#told()
    }
  }
}

/** Milliseconds of whole lives of a cluster, the best of several in a warm process. */
async function start(): Promise<StartResult> {
  let best = { running: Number.POSITIVE_INFINITY, overhead: Number.POSITIVE_INFINITY }
  for (let i = 0; i < 8; i++) {
    const begin = performance.now()
    const cluster = await startCluster({ nodes: 1 })
    const started = performance.now()
    const counted = countRunning(cluster, 1)
    await createPods(cluster, 1)
    await counted
    const running = performance.now()
    await cluster.dispose()
    const overhead = started - begin + (performance.now() - running)
    best = { running: Math.min(best.running, running - begin), overhead: Math.min(best.overhead, overhead) }
  }
  return best
}

export interface StartResult {
  /** From `startCluster()` to a Running pod. */
  running: number
  /** What a suite pays for a cluster of its own: start and disposal. */
  overhead: number
}

const [first = '', second = ''] = process.argv.slice(2)
const result = () => {
  if (first === 'start') return start()
  if (first === 'endpoints') return endpoints(Number(second))
  return scale(Number(first), Number(second))
}
console.log(JSON.stringify(await result()))
process.exit(0)
