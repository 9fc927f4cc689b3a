import type { Node } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { aborted } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Logger } from '../../base/log.ts'
import { WorkQueue } from '../../base/workqueue.ts'
import { createClient } from '../../client/client.ts'
import type { Informer } from '../../client/informer.ts'
import type { Transport } from '../../client/transport.ts'
import type { Linux } from '../../linux/linux.ts'
import type { NetworkEvent } from '../../linux/rtnetlink.ts'
import { peerWithin } from '../peers/peer-of-node.ts'
import type { NetworkBackend, Peer } from '../pod-network.ts'
import type { NodeGuard } from './node-guard.ts'
import { backendNode, missingAnnotations, type OwnNode, ownNode } from './own-node.ts'

/** What the loop needs of the network of the node's pods. */
export interface LocalPodNetwork {
  /** Undefined when pods can be attached. */
  readonly notReadyReason: string | undefined
  /** Whether it hands out addresses of the node's own CIDRs. */
  readonly needsPodCIDR: boolean
  configure(configuration: { podCIDRs: readonly string[]; mtu: number; uplink: string }): Promise<void>
  repair(): Promise<void>
}

export interface NodeLoopOptions {
  readonly transport: Transport
  readonly nodeName: string
  readonly nodes: Informer<Node>
  readonly linux: Linux
  readonly backend: NetworkBackend
  readonly podNetwork: LocalPodNetwork
  readonly clusterCIDRs: readonly string[]
  /** Keeps neighbours out, where the node is in a network with them. */
  readonly guard: NodeGuard | undefined
  readonly bridge: string
  readonly mtu?: number
  readonly clock: Clock
  readonly log: Logger
}

const SELF = 'self'
const GUARD = 'guard'
const REPAIR = 'repair'
const PEER = 'peer/'
/** Links and rules change in bursts: one look for all of them. */
const REPAIR_DELAY = 250
const BACKOFF = { base: 200, maximum: 30_000 }
const DEFAULT_MTU = 1500

/** One thing at a time: the guard, this node, its peers one by one, and the whole again after someone else changed the kernel. */
export class NodeLoop implements AsyncDisposable {
  readonly ready: Promise<void>
  readonly #options: NodeLoopOptions
  readonly #queue: WorkQueue
  readonly #ending: (() => void)[] = []
  #becameReady = { resolve: () => {}, reject: (_: unknown) => {} }
  readonly #paused = new AbortController()
  #running: Promise<void> | undefined
  #own: OwnNode | undefined
  #annotations: Readonly<Record<string, string>> = {}
  #hasPeers = false
  #problem: string | undefined = 'the node is not registered yet'

  constructor(options: NodeLoopOptions) {
    this.#options = options
    this.#queue = new WorkQueue(options.clock, BACKOFF)
    this.ready = new Promise((resolve, reject) => {
      this.#becameReady = { resolve, reject }
    })
    // Whoever waits sees the rejection; if nobody does, it must not end the process.
    this.ready.catch(() => {})
  }

  get notReadyReason(): string | undefined {
    return this.#problem ?? this.#options.podNetwork.notReadyReason
  }

  start(): void {
    const { nodes, linux, backend } = this.#options
    this.#ending.push(nodes.onChange((old, current) => this.#nodeChanged(old, current)))
    const network = linux.openRtnetlink()
    const nftables = linux.openNftables()
    const watches = [
      network.watch((event) => this.#networkChanged(event)),
      nftables.watch(({ processId }) => processId !== process.pid && this.#queue.addAfter(REPAIR, REPAIR_DELAY)),
      network,
      nftables,
    ]
    this.#ending.push(() => watches.forEach((watch) => void watch[Symbol.dispose]()))
    this.#options.log.debug('pod network started', { backend: backend.name })
    this.#running = this.#work()
  }

  /** Nothing is changed in the kernel any more. */
  async pause(): Promise<void> {
    for (const end of this.#ending.splice(0)) end()
    this.#paused.abort()
    this.#queue.shutDown()
    await this.#running
    this.#problem ??= 'the pod network was stopped'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pause()
    this.#becameReady.reject(new Error('the pod network was stopped before it was ready'))
  }

  async #work(): Promise<void> {
    const { log, nodes } = this.#options
    // Before all peers are known, none may be taken for gone. Who stops does not wait for an API that may be away.
    await Promise.race([nodes.synced.catch(() => {}), aborted(this.#paused.signal)])
    if (this.#paused.signal.aborted) return
    this.#queue.add(SELF)
    for (let key = await this.#queue.next(); key !== undefined; key = await this.#queue.next()) {
      try {
        await this.#reconcile(key)
        this.#queue.forget(key)
      } catch (error) {
        if (this.#queue.failures(key) === 0) log.warn('the pod network could not be brought up to date', { key, error })
        this.#queue.addRateLimited(key)
      } finally {
        this.#queue.done(key)
      }
    }
  }

  async #reconcile(key: string): Promise<void> {
    const { backend, nodes, podNetwork, guard } = this.#options
    if (key === GUARD || key === REPAIR) await guard?.update(nodes.list(), key === REPAIR)
    if (key === GUARD) return
    if (key.startsWith(PEER)) {
      if (!this.#hasPeers) return
      const name = key.slice(PEER.length)
      const node = nodes.get(name)
      backend.setPeer(name, node && this.#peerOf(node))
      return
    }
    await this.#reconcileSelf()
    if (key !== REPAIR || !this.#own) return
    await podNetwork.repair()
    this.#setAllPeers()
  }

  /** The pods of this node first: they work without any other node. */
  async #reconcileSelf(): Promise<void> {
    const { nodes, nodeName, linux, clusterCIDRs, podNetwork, bridge } = this.#options
    const node = nodes.get(nodeName)
    if (!node) return
    const own = ownNode(linux, node, clusterCIDRs, [bridge])
    if (podNetwork.needsPodCIDR && own.podCIDRs.length === 0) {
      this.#problem = `node ${nodeName} has no pod CIDR yet`
      return
    }
    if (!deepEqual(own, this.#own)) await this.#configure(own)
    await this.#publish(node)
  }

  async #configure(own: OwnNode): Promise<void> {
    const { podNetwork, backend, mtu, guard, nodes } = this.#options
    // Before the node forwards anything.
    await guard?.update(nodes.list(), false)
    const overhead = own.uplink ? backend.overhead(backendNode(own)) : 0
    await podNetwork.configure({
      podCIDRs: own.podCIDRs,
      mtu: mtu ?? (own.uplink?.mtu ?? DEFAULT_MTU) - overhead,
      uplink: own.uplink?.name ?? 'lo',
    })
    this.#problem = undefined
    this.#becameReady.resolve()
    if (own.uplink || backend.name !== 'none') this.#annotations = backend.start(backendNode(own))
    this.#setAllPeers()
    this.#own = own
  }

  #setAllPeers(): void {
    const { nodes, nodeName, backend } = this.#options
    this.#hasPeers = true
    backend.setPeers(
      nodes
        .list()
        .filter(({ metadata }) => metadata.name !== nodeName)
        .map((node) => this.#peerOf(node)),
    )
  }

  async #publish(node: Node): Promise<void> {
    const { transport, nodeName } = this.#options
    const annotations = missingAnnotations(node, this.#annotations)
    if (Object.keys(annotations).length === 0) return
    await createClient(transport).resource(nodeKind).patch(nodeName, { metadata: { annotations } })
  }

  /** Heartbeats change a Node every few seconds and mean nothing here. */
  #nodeChanged(old: Node | undefined, current: Node | undefined): void {
    const { name = '' } = (current ?? old)!.metadata
    if (name === this.#options.nodeName) {
      this.#queue.add(SELF)
      return
    }
    if (old && current && deepEqual(this.#peerOf(old), this.#peerOf(current))) return
    this.#queue.add(`${PEER}${name}`)
    this.#queue.add(GUARD)
  }

  #peerOf(node: Node): Peer {
    return peerWithin(this.#options.clusterCIDRs, node)
  }

  /** Pods come and go by their veth pairs; everything else may concern the ways between nodes. */
  #networkChanged(event: NetworkEvent): void {
    const isOfPod =
      event.object === 'link' && event.link.kind === 'veth' && event.link.index !== this.#own?.uplink?.index
    const isNewRoute = event.object === 'route' && event.change === 'set'
    if (!isOfPod && !isNewRoute) this.#queue.addAfter(REPAIR, REPAIR_DELAY)
  }
}
