import type { Node } from '../api/generated/core-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { ApiError } from '../api/meta/api-error.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Client } from '../client/client.ts'
import type { EventRecorder } from '../client/events.ts'
import type { Informer } from '../client/informer.ts'
import type { InformerFactory } from '../client/informer-factory.ts'
import type { MetricsSource, NodeMetrics, PodMetrics } from '../client/metrics-source.ts'
import { Heartbeats, withFreshConditions } from './simulated/heartbeats.ts'
import { nodeAddress, nodeObject, type SimulatedNodeSpec } from './simulated/node-object.ts'
import { learnNode, type NodeTable, type SimulatedMachine } from './simulated/node-table.ts'
import { PodLoop } from './simulated/pod-loop.ts'
import { nodeMetrics, podMetrics } from './simulated/usage.ts'

export type { SimulatedNodeSpec } from './simulated/node-object.ts'

export interface SimulatedNodesOptions {
  readonly client: Client
  readonly informers: InformerFactory
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Without it nothing is told of single containers, which thousands of pods are better off with. */
  readonly events?: EventRecorder
  /** Pods wait until their node has a range of addresses from the node IPAM controller. */
  readonly awaitPodCIDR?: boolean
}

/** Nodes that exist in the API only: pods on them run, finish and fail as their annotations say. */
export interface SimulatedNodes extends AsyncDisposable {
  readonly names: readonly string[]
  /** Whether anything is being written; what waits for a later time does not count. */
  readonly isBusy: boolean
  /** Registers nodes, or takes over those that are registered already. */
  add(nodes: readonly SimulatedNodeSpec[]): Promise<void>
  /** The machine stops at once: no heartbeat, no pod moves. Its Node object stays. */
  kill(name: string): void
  /** It comes back. */
  revive(name: string): Promise<void>
  readonly metrics: SimulatedMetrics
}

/** What the Metrics API answers with. */
export interface SimulatedMetrics extends MetricsSource {
  pod(namespace: string, name: string): PodMetrics | undefined
  pods(namespace?: string): PodMetrics[]
  node(name: string): NodeMetrics | undefined
  nodes(): NodeMetrics[]
}

const REGISTERING_AT_ONCE = 64

export async function startSimulatedNodes(options: SimulatedNodesOptions): Promise<SimulatedNodes> {
  const nodes = new SimulatedNodeGroup(options)
  await nodes.synced
  return nodes
}

class SimulatedNodeGroup implements SimulatedNodes {
  readonly #options: SimulatedNodesOptions
  readonly #machines: NodeTable = new Map()
  readonly #nodes: Informer<Node>
  readonly #pods: PodLoop
  readonly #heartbeats: Heartbeats
  readonly #unsubscribe: () => void
  #added = 0
  #registering = 0

  constructor(options: SimulatedNodesOptions) {
    this.#options = options
    this.#nodes = options.informers.informer(nodeKind)
    this.#heartbeats = new Heartbeats(options)
    this.#pods = new PodLoop(options, this.#machines)
    this.#unsubscribe = this.#nodes.onChange((old, current) => this.#nodeChanged((current ?? old)!, current))
  }

  get synced(): Promise<unknown> {
    return Promise.all([this.#nodes.synced, this.#pods.synced])
  }

  get names(): readonly string[] {
    return [...this.#machines.keys()]
  }

  get isBusy(): boolean {
    return this.#registering > 0 || this.#heartbeats.isBusy || this.#pods.isBusy
  }

  async add(specs: readonly SimulatedNodeSpec[]): Promise<void> {
    const waiting = [...specs]
    this.#registering++
    try {
      await Promise.all(
        Array.from({ length: REGISTERING_AT_ONCE }, async () => {
          for (let spec = waiting.shift(); spec; spec = waiting.shift()) await this.#register(spec)
        }),
      )
    } finally {
      this.#registering--
    }
  }

  kill(name: string): void {
    this.#machineOf(name).isAlive = false
  }

  async revive(name: string): Promise<void> {
    const machine = this.#machineOf(name)
    machine.isAlive = true
    if (!machine.node) return this.#register(machine.spec)
    await this.#heartbeats.beat(name)
    this.#pods.wake(name)
  }

  readonly metrics: SimulatedMetrics = {
    pod: (namespace, name) => {
      const pod = this.#podInformer.get(`${namespace}/${name}`)
      return pod && this.#machines.get(pod.spec?.nodeName ?? '')?.isAlive ? podMetrics(pod, this.#now) : undefined
    },
    pods: (namespace) =>
      this.#alive()
        .flatMap((name) => this.#pods.podsOn(name))
        .filter((pod) => namespace === undefined || pod.metadata.namespace === namespace)
        .flatMap((pod) => podMetrics(pod, this.#now) ?? []),
    node: (name) => this.#nodeMetrics(this.#machines.get(name)),
    nodes: () => [...this.#machines.values()].flatMap((machine) => this.#nodeMetrics(machine) ?? []),
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    this.#heartbeats.stop()
    await this.#pods[Symbol.asyncDispose]()
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  get #podInformer() {
    return this.#options.informers.informer(podKind)
  }

  #nodeMetrics(machine: SimulatedMachine | undefined): NodeMetrics | undefined {
    if (!machine?.isAlive || !machine.node) return undefined
    return nodeMetrics(machine.node, this.#pods.podsOn(machine.spec.name), this.#now)
  }

  #alive(): string[] {
    return [...this.#machines.values()].filter(({ isAlive }) => isAlive).map(({ spec }) => spec.name)
  }

  #machineOf(name: string): SimulatedMachine {
    const machine = this.#machines.get(name)
    if (!machine) throw new Error(`there is no simulated node ${name}; there are: ${this.names.join(', ')}`)
    return machine
  }

  async #register(spec: SimulatedNodeSpec): Promise<void> {
    const index = this.#machines.get(spec.name)?.index ?? this.#added++
    const address = spec.address ?? nodeAddress(index)
    const machine: SimulatedMachine = { spec, index, address, isAlive: true, node: undefined, addresses: undefined }
    this.#machines.set(spec.name, machine)
    const created = await this.#createNode(machine)
    // The informer may have run ahead of the answer; what it told meanwhile was not listened to.
    this.#learn(machine, this.#nodes.get(spec.name) ?? created)
    await this.#heartbeats.add(machine)
  }

  async #createNode({ spec, address }: SimulatedMachine): Promise<Node> {
    const { client, random } = this.#options
    const nodes = client.resource(nodeKind)
    try {
      return await nodes.create(nodeObject(spec, address, random, this.#now))
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 409)) throw error
      return nodes.updateStatus(withFreshConditions(await nodes.get(spec.name), this.#now))
    }
  }

  #nodeChanged({ metadata }: Node, current: Node | undefined): void {
    const machine = this.#machines.get(metadata.name ?? '')
    if (!machine || (!machine.node && current)) return
    // Whoever deletes the Node object takes the machine away.
    if (!current) {
      machine.isAlive = false
      this.#heartbeats.remove(machine.spec.name)
    }
    this.#learn(machine, current)
  }

  #learn(machine: SimulatedMachine, node: Node | undefined): void {
    const { name } = machine.spec
    if (learnNode(machine, node, () => this.#pods.podsOn(name))) this.#pods.wake(name)
  }
}
