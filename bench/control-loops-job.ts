import { podKind } from '../src/api/kinds/core/pod/kind.ts'
import { startCluster, type TestCluster } from '../src/testing/index.ts'

/** Runs in a process of its own: `node control-loops-job.js <nodes> <pods>`, or `start`. Prints one line of JSON. */

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

/** Milliseconds from `startCluster()` to a Running pod, and of a whole life, the best of several in a warm process. */
async function start(): Promise<{ running: number; life: number }> {
  let best = { running: Number.POSITIVE_INFINITY, life: Number.POSITIVE_INFINITY }
  for (let i = 0; i < 8; i++) {
    const begin = performance.now()
    const cluster = await startCluster({ nodes: 1 })
    const counted = countRunning(cluster, 1)
    await createPods(cluster, 1)
    await counted
    const running = performance.now() - begin
    await cluster.dispose()
    best = { running: Math.min(best.running, running), life: Math.min(best.life, performance.now() - begin) }
  }
  return best
}

const [first = '', second = ''] = process.argv.slice(2)
console.log(JSON.stringify(first === 'start' ? await start() : await scale(Number(first), Number(second))))
process.exit(0)
