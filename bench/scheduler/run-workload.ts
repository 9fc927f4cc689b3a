import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Node, Pod } from '../../src/api/generated/core-v1.ts'
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { priorityClassKind } from '../../src/api/kinds/scheduling/priority-class.ts'
import { startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { seededRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { createInformerFactory } from '../../src/client/informer-factory.ts'
import { startScheduler } from '../../src/scheduler/scheduler.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import { requests, type Workload } from './workloads.ts'

export interface WorkloadResult {
  /** Pods a second, from the first create to the last binding seen. */
  readonly rate: number
  /** CPU of the whole process per pod, in microseconds: client, API server, store and scheduler together. */
  readonly cpu: number
}

const CREATES_AT_ONCE = 64
const PAUSE = 20

export interface RunOptions {
  /** Less of everything, for a quick look. */
  readonly scale?: number
  /** Goes around the measured part, to watch it. */
  readonly around?: (measured: () => Promise<void>) => Promise<void>
}

/** API server, store in memory and scheduler in this process, nodes as objects only. */
export async function runWorkload(workload: Workload, options: RunOptions = {}): Promise<WorkloadResult> {
  const { scale = 1, around = (work) => work() } = options
  const [clock, random, log] = [systemClock, seededRandom(1), silentLogger]
  await using store = await openMemoryStore()
  await using server = await startApiServer({
    store,
    clock,
    random,
    log,
    serviceCidrs: ['10.96.0.0/16'],
    // Nobody is here to give namespaces their accounts.
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const transport = server.transport({ name: 'bench', groups: ['system:masters'] }, 'bench')
  const client = createClient(transport)
  const count = (n: number) => Math.max(1, Math.round(n * scale))
  await inParallel(count(workload.nodes), async (i) => {
    await client.resource(nodeKind).create(nodeFor(workload, i))
    // New nodes are tainted until they are ready, and nobody else is here to say so.
    return client.resource(nodeKind).patch(`node-${i}`, { spec: { taints: null } })
  })
  await client.resource(priorityClassKind).create({ metadata: { name: 'high' }, value: 10 })
  await using informers = createInformerFactory({ transport, clock, random, log })
  await using scheduler = await startScheduler({ client, informers, clock, random, log })
  const bound = counter(informers.informer(podKind))
  const existing = workload.existing === 0 ? 0 : count(workload.existing)
  await createPods(client, 'existing', existing, workload.existingPod)
  await createPods(client, 'gated', count(workload.gated ?? 0) * (workload.gated ? 1 : 0), () => ({
    spec: { containers: requests(), schedulingGates: [{ name: 'bench/wait' }] },
  }))
  await until(() => bound('existing') === existing)
  // What is left to tell of these is not the business of those that are measured.
  await until(() => !scheduler.isBusy && scheduler.untoldEvents === 0)
  const stop = churn(client, workload)
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  const measured = count(workload.measured)
  await around(async () => {
    await createPods(client, 'measured', measured, workload.pod)
    await until(() => bound('measured') === measured)
  })
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  await stop()
  return { rate: measured / seconds, cpu: (user + system) / measured }
}

function nodeFor({ node }: Workload, i: number): Node {
  const name = `node-${i}`
  const { labels, allocatable = { cpu: '4', memory: '32Gi', pods: '110' } } = node?.(i) ?? {}
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    status: { allocatable, capacity: allocatable },
  }
}

function createPods(client: Client, label: string, count: number, parts: Workload['pod']): Promise<void> {
  const pods = client.resource(podKind).namespace('default')
  return inParallel(count, (i) => {
    const { metadata, spec = { containers: requests() } } = parts?.(i) ?? {}
    const labels = { ...metadata?.labels, bench: label }
    return pods.create({
      metadata: { name: `${label}-${i}`, labels },
      spec: { ...spec, ...(spec.priority && { priorityClassName: 'high' }) },
    })
  })
}

async function inParallel(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) {
      await work(next++)
      // As any client does that is not in the same process: what came meanwhile is heard in between.
      await nextTurn()
    }
  }
  await Promise.all(Array.from({ length: CREATES_AT_ONCE }, worker))
}

/** Bound pods by the label that says what they are for. */
function counter(pods: {
  onChange(listener: (old: Pod | undefined, current: Pod | undefined) => void): unknown
}): (label: string) => number {
  const counts = new Map<string, number>()
  pods.onChange((old, current) => {
    if (!current?.spec?.nodeName || old?.spec?.nodeName) return
    const label = current.metadata.labels?.bench ?? ''
    counts.set(label, (counts.get(label) ?? 0) + 1)
  })
  return (label) => counts.get(label) ?? 0
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await systemClock.sleep(PAUSE)
}

/** Keeps changing things that have nothing to do with the measured pods. */
function churn(client: Client, { churn: kind }: Workload): () => Promise<void> {
  if (!kind) return async () => {}
  let isRunning = true
  const pods = client.resource(podKind).namespace('default')
  const nodes = client.resource(nodeKind)
  const work = (async () => {
    for (let i = 0; isRunning; i++) {
      await pods.create({ metadata: { name: `hopeless-${i}` }, spec: { containers: requests('900', '500Gi') } })
      if (kind === 'mixed') {
        await nodes.create({ metadata: { name: `passing-${i}` }, spec: { unschedulable: true } })
        await nodes.delete(`passing-${i}`)
        await pods.delete(`hopeless-${i}`)
      }
      await systemClock.sleep(PAUSE)
    }
  })()
  return async () => {
    isRunning = false
    await work
  }
}
