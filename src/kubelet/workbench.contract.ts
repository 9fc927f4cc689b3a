import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Node, Pod } from '../api/generated/core-v1.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { startApiServer } from '../apiserver/server.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/client.ts'
import type { Transport } from '../client/transport.ts'
import {
  type SimulatedRuntime,
  type SimulatedRuntimeOptions,
  simulatedRuntime,
} from '../container-runtime/simulated-runtime.ts'
import { openMemoryStore } from '../store/embedded.ts'
import { type Kubelet, type KubeletOptions, startKubelet } from './kubelet.ts'

const PODS = { group: '', version: 'v1', plural: 'pods', namespaced: true }
const EVENTS = { group: '', version: 'v1', plural: 'events', namespaced: true }

export interface CoreEvent extends KubernetesObject {
  readonly reason: string
  readonly message: string
  readonly type: string
  readonly involvedObject: { readonly name: string; readonly fieldPath?: string }
}

/** A kubelet with a simulated runtime on an API server in the same process, on a clock that the test moves. */
export class Workbench implements AsyncDisposable {
  readonly clock: VirtualClock
  readonly client: Client
  readonly runtime: SimulatedRuntime
  readonly rootDir: string
  kubelet: Kubelet | undefined
  readonly #options: KubeletOptions
  readonly #dispose: () => Promise<void>

  constructor(parts: {
    clock: VirtualClock
    client: Client
    runtime: SimulatedRuntime
    options: KubeletOptions
    dispose: () => Promise<void>
  }) {
    this.clock = parts.clock
    this.client = parts.client
    this.runtime = parts.runtime
    this.rootDir = parts.options.rootDir
    this.#options = parts.options
    this.#dispose = parts.dispose
  }

  async startKubelet(): Promise<Kubelet> {
    this.kubelet = await startKubelet(this.#options)
    return this.kubelet
  }

  async stopKubelet(): Promise<void> {
    await this.kubelet?.[Symbol.asyncDispose]()
    this.kubelet = undefined
  }

  pods(namespace = 'default') {
    return this.client.resource<Pod>(PODS).namespace(namespace)
  }

  async create(name: string, spec: Partial<NonNullable<Pod['spec']>>, metadata: Pod['metadata'] = {}): Promise<Pod> {
    const containers = spec.containers ?? [{ name: 'main', image: 'busybox:1' }]
    return this.pods().create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ...metadata },
      spec: { nodeName: 'node-1', ...spec, containers },
    })
  }

  get(name: string): Promise<Pod> {
    return this.pods().get(name)
  }

  /** Moves time on in small steps until the pod is as wanted. */
  async until<T>(look: () => Promise<T>, wanted: (found: T) => boolean, limit = 120_000, step = 500): Promise<T> {
    const end = this.clock.now() + limit
    for (;;) {
      for (let i = 0; i < 25; i++) {
        const found = await look()
        if (wanted(found)) return found
        await new Promise((resolve) => setImmediate(resolve))
      }
      // Files are read and written in real time, which the clock knows nothing of.
      await new Promise((resolve) => setTimeout(resolve, 2))
      const found = await look()
      if (wanted(found)) return found
      if (this.clock.now() >= end) throw new Error(`not as wanted after ${limit} ms: ${JSON.stringify(found)}`)
      await this.clock.advanceAsync(step)
    }
  }

  untilPod(name: string, wanted: (pod: Pod) => boolean, limit?: number): Promise<Pod> {
    return this.until(() => this.get(name), wanted, limit)
  }

  async untilGone(name: string, limit?: number, step?: number): Promise<void> {
    const look = () =>
      this.get(name).then(
        (pod) => pod as Pod | undefined,
        () => undefined,
      )
    await this.until(look, (pod) => pod === undefined, limit, step)
  }

  async events(name?: string): Promise<CoreEvent[]> {
    const list = await this.client.resource<CoreEvent>(EVENTS).namespace('default').list()
    const version = ({ metadata }: CoreEvent) => Number(metadata.resourceVersion)
    return list.items
      .filter((event) => name === undefined || event.involvedObject.name === name)
      .sort((a, b) => version(a) - version(b))
  }

  /** Waits for an event, and returns its message. */
  async untilEvent(name: string, reason: string, message?: string | RegExp, limit?: number): Promise<string> {
    const fits = (event: CoreEvent) =>
      event.reason === reason &&
      (message === undefined || (typeof message === 'string' ? event.message === message : message.test(event.message)))
    const found = await this.until(
      () => this.events(name),
      (events) => events.some(fits),
      limit,
    )
    return found.find(fits)!.message
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopKubelet()
    await this.#dispose()
  }
}

export type WorkbenchOptions = Partial<Omit<SimulatedRuntimeOptions, 'clock' | 'random'>> & {
  readonly kubelet?: Partial<KubeletOptions>
  /** What the kubelet has in the place of the real transport. */
  readonly transport?: (real: Transport) => Transport
  readonly start?: boolean
}

export async function workbench(options: WorkbenchOptions = {}): Promise<Workbench> {
  const { kubelet = {}, transport = (real) => real, start = true, ...runtimeOptions } = options
  const clock = new VirtualClock()
  const random = seededRandom(7)
  const store = await openMemoryStore()
  const server = await startApiServer({
    store,
    clock,
    random,
    log: silentLogger,
    serviceCidrs: ['10.96.0.0/16'],
  })
  const admin = { name: 'admin', groups: ['system:masters', 'system:authenticated'] }
  const rootDir = await mkdtemp(path.join(tmpdir(), 'sampan-kubelet-'))
  const runtime = simulatedRuntime({ clock, random, ...runtimeOptions })
  const bench = new Workbench({
    clock,
    client: createClient(server.transport(admin)),
    runtime,
    options: {
      transport: transport(server.transport(admin)),
      nodeName: 'node-1',
      runtime,
      rootDir,
      clock,
      random,
      log: silentLogger,
      nodeAddresses: ['192.0.2.10'],
      clusterDns: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      capacity: { cpu: '4', memory: '8Gi' },
      // Whatever the machine that runs the tests is short of.
      evictionThresholds: { memoryAvailableBytes: 0, diskAvailableFraction: 0, inodesFreeFraction: 0 },
      ...kubelet,
    },
    dispose: async () => {
      await server[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await rm(rootDir, { recursive: true, force: true })
    },
  })
  const accounts = bench.client.resource({ group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true })
  await accounts.namespace('default').create({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
    automountServiceAccountToken: false,
  } as never)
  if (start) await bench.startKubelet()
  return bench
}

export const phaseIs = (phase: string) => (pod: Pod) => pod.status?.phase === phase
export const isReady = (pod: Pod) =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
export const nodeReady = (node: Node) =>
  node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
