import type { Node, Pod } from '../api/generated/core-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { type ApiServer, startApiServer } from '../apiserver/server.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { type Client, createClient } from '../client/client.ts'
import { createInformerFactory } from '../client/informer-factory.ts'
import type { ApiCall, Transport } from '../client/transport.ts'
import { openMemoryStore } from '../store/embedded.ts'
import type { SchedulerConfiguration } from './configuration.ts'
import { type Scheduler, startScheduler } from './scheduler.ts'

/** An API server in memory with nodes made by hand and a scheduler. */
export interface Workbench extends AsyncDisposable {
  readonly server: ApiServer
  readonly client: Client
  readonly scheduler: Scheduler
  /** What the scheduler told, as `pod reason: message`. */
  readonly events: readonly string[]
  node(name: string, parts?: NodeParts): Promise<Node>
  pod(name: string, spec?: Partial<NonNullable<Pod['spec']>>, metadata?: Partial<Pod['metadata']>): Promise<Pod>
  nodeOf(name: string): Promise<string | undefined>
  get(name: string): Promise<Pod>
  settled(): Promise<void>
  /** Stops this scheduler and starts another on the same cluster. */
  restart(): Promise<void>
}

export interface NodeParts {
  readonly cpu?: string
  readonly memory?: string
  readonly pods?: string
  readonly labels?: Record<string, string>
  readonly taints?: { key: string; value?: string; effect: string }[]
  readonly unschedulable?: boolean
  readonly allocatable?: Record<string, string>
}

const QUIET_TURNS = 8

export async function startWorkbench(
  options: {
    configuration?: SchedulerConfiguration
    clock?: Clock
    /** Makes calls of the scheduler fail. */
    fault?: (call: ApiCall) => Error | undefined
  } = {},
): Promise<Workbench> {
  const { clock = systemClock } = options
  const log = silentLogger
  const random = seededRandom(1)
  const store = await openMemoryStore()
  const server = await startApiServer({
    store,
    clock,
    random,
    log,
    serviceCidrs: ['10.96.0.0/16'],
    // Nobody is here to give namespaces their accounts, or to lift marks from volumes.
    disableAdmissionPlugins: ['ServiceAccount', 'StorageObjectInUseProtection'],
  })
  const transport = server.transport({ name: 'system:admin', groups: ['system:masters'] }, 'test')
  const client = createClient(transport)
  const faulty: Transport = {
    ...transport,
    call: (call) => {
      const error = options.fault?.(call)
      return error ? Promise.reject(error) : transport.call(call)
    },
  }
  const events: string[] = []
  const start = async () => {
    const informers = createInformerFactory({ transport, clock, random, log })
    const scheduler = await startScheduler({
      client: createClient(faulty),
      informers,
      clock,
      random,
      log,
      ...(options.configuration && { configuration: options.configuration }),
      events: { event: (pod, _type, reason, message) => events.push(`${pod.metadata.name} ${reason}: ${message}`) },
    })
    return { informers, scheduler }
  }
  let running = await start()
  const stop = async () => {
    await running.scheduler[Symbol.asyncDispose]()
    await running.informers[Symbol.asyncDispose]()
  }
  const pods = client.resource(podKind).namespace('default')
  return {
    server,
    client,
    events,
    get scheduler() {
      return running.scheduler
    },
    async node(name, parts = {}) {
      await client.resource(nodeKind).create(nodeOf(name, parts))
      // New nodes are tainted until they are ready, and nobody else is here to say so.
      return client.resource(nodeKind).patch(name, { spec: { taints: parts.taints ?? null } })
    },
    pod: (name, spec = {}, metadata = {}) => pods.create(podOf(name, spec, metadata)),
    nodeOf: async (name) => (await pods.get(name)).spec?.nodeName,
    get: (name) => pods.get(name),
    async settled() {
      for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
        await new Promise(setImmediate)
        if (running.scheduler.isBusy) quiet = -1
      }
    },
    async restart() {
      await stop()
      running = await start()
    },
    async [Symbol.asyncDispose]() {
      await stop()
      await server[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
    },
  }
}

export function nodeOf(name: string, parts: NodeParts = {}): Node {
  const { cpu = '4', memory = '16Gi', pods = '110', labels, taints, unschedulable, allocatable } = parts
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec: { ...(taints && { taints }), ...(unschedulable && { unschedulable }) },
    status: { allocatable: { cpu, memory, pods, ...allocatable }, capacity: { cpu, memory, pods, ...allocatable } },
  }
}

export function podOf(
  name: string,
  spec: Partial<NonNullable<Pod['spec']>> = {},
  metadata: Partial<Pod['metadata']> = {},
): Pod {
  return {
    metadata: { name, namespace: 'default', ...metadata },
    spec: { containers: [{ name: 'main', image: 'registry.example/app:1' }], ...spec },
  }
}

/** One container that asks for this much. */
export const asking = (cpu: string, memory = '64Mi') => ({
  containers: [{ name: 'main', image: 'registry.example/app:1', resources: { requests: { cpu, memory } } }],
})
