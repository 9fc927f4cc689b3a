import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Node, Pod } from '../../src/api/generated/core-v1.ts'
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { startApiServer } from '../../src/apiserver/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { createInformerFactory } from '../../src/client/informer-factory.ts'
import { startScheduler } from '../../src/scheduler/scheduler.ts'
import { openMemoryStore } from '../../src/store/embedded.ts'
import { repeat, type Stop, startChurn } from './churn.ts'
import { DEFAULT_POD, GATED_POD, type Workload } from './workloads.ts'

export interface WorkloadResult {
  /** Pods a second, from the first create to the last binding seen. */
  readonly rate: number
  /** CPU of the whole process per pod, in microseconds: client, API server, store and scheduler together. */
  readonly cpu: number
}

const CREATES_AT_ONCE = 64
const PAUSE = 2

export interface RunOptions {
  /** Less of everything, for a quick look. */
  readonly scale?: number
  /** Goes around the measured part, to watch it. */
  readonly around?: (measured: () => Promise<void>) => Promise<void>
}

/** Off in the public benchmark too: nobody is here to give namespaces accounts, or to tell that nodes are ready. */
const WITHOUT = ['ServiceAccount', 'TaintNodesByCondition', 'Priority']

/** API server, store in memory and scheduler in this process, nodes as objects only. */
export async function runWorkload(workload: Workload, options: RunOptions = {}): Promise<WorkloadResult> {
  const { scale = 1, around = (work) => work() } = options
  const [clock, random, log] = [systemClock, systemRandom, silentLogger]
  const count = (n = 0) => (n === 0 ? 0 : Math.max(1, Math.round(n * scale)))
  await using store = await openMemoryStore()
  const disableAdmissionPlugins = WITHOUT
  await using server = await startApiServer({
    ...{ store, clock, random, log, disableAdmissionPlugins },
    serviceCidrs: ['10.96.0.0/16'],
  })
  const transport = server.transport({ name: 'bench', groups: ['system:masters'] }, 'bench')
  const client = createClient(transport)
  await prepare(client, workload, count(workload.nodes))
  await using informers = createInformerFactory({ transport, clock, random, log })
  await using scheduler = await startScheduler({ client, informers, clock, random, log })
  const bound = counter(informers.informer(podKind))
  const [existing, deleting] = [count(workload.existing), count(workload.deleting?.pods)]
  await createPods(client, 'gated', count(workload.gated), GATED_POD)
  await createPods(client, 'existing', existing, workload.existingPod)
  await createPods(client, 'deleting', deleting, workload.pod)
  await until(() => bound('existing') === existing && bound('deleting') === deleting)
  // What is left to tell of these is not the business of those that are measured.
  await until(() => !scheduler.isBusy && scheduler.untoldEvents === 0)
  const stops = startMeanwhile(client, workload, deleting)
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  const measured = count(workload.measured)
  await around(async () => {
    await createPods(client, 'measured', measured, workload.pod)
    await until(() => bound('measured') === measured)
  })
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  for (const stop of stops) await stop()
  return { rate: measured / seconds, cpu: (user + system) / measured }
}

async function prepare(client: Client, workload: Workload, nodes: number): Promise<void> {
  await inParallel(nodes, (i) => client.resource(nodeKind).create(nodeFor(workload, i)))
  const { service: selector } = workload
  const spec = { selector: selector ?? {}, ports: [{ port: 8080 }] }
  if (selector)
    await client
      .resource(serviceKind)
      .namespace('default')
      .create({ metadata: { name: 'service' }, spec })
}

/** What happens while pods are measured. */
function startMeanwhile(client: Client, { churn, deleting }: Workload, pods: number): Stop[] {
  const stops = churn ? [startChurn(client, churn)] : []
  if (!deleting) return stops
  const remove = (i: number) => client.resource(podKind).namespace('default').delete(`deleting-${i}`)
  const stop = repeat(1000 / deleting.perSecond, async (i) => i < pods && remove(i))
  return [...stops, stop]
}

function nodeFor({ node }: Workload, i: number): Node {
  const name = `node-${i}`
  const { labels, allocatable = { cpu: '4', memory: '32Gi', pods: '110' } } = node?.(i) ?? {}
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    status: { allocatable, capacity: allocatable },
  }
}

function createPods(client: Client, label: string, count: number, template = DEFAULT_POD): Promise<void> {
  const pods = client.resource(podKind).namespace('default')
  const { metadata, spec } = template
  const labels = { ...metadata?.labels, bench: label }
  return inParallel(count, (i) => pods.create({ metadata: { name: `${label}-${i}`, labels }, ...(spec && { spec }) }))
}

async function inParallel(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) {
      await work(next++)
      // As clients elsewhere do, who hear of a write in a later turn.
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
