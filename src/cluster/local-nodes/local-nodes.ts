/** The nodes of a cluster on one machine: each a process in a network namespace of its own. */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Node, Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import { createInformerFactory } from '../../client/informer-factory.ts'
import type { Transport } from '../../client/transport.ts'
import type { Linux } from '../../linux/linux.ts'
import { parseSources } from '../../pod-network/forwarding-sources.ts'
import type { NodeSettings } from '../node/node-settings.ts'
import { isLoopbackAddress } from '../node/upstream-dns.ts'
import { NodeProcess, stopNode } from '../processes/node-process.ts'
import { CredentialedNode } from './credentialed-node.ts'
import { startDnsRelay } from './dns-relay.ts'
import { followLoadBalancers } from './load-balancer-routes.ts'
import { LocalNetwork, type LocalNode } from './local-network.ts'
import { followPodRanges } from './pod-routes.ts'
import type { NodesStart, RealNodes } from './real-nodes.ts'

export interface LocalNodesOptions {
  readonly linux: Linux
  /** The cluster's own; each node has a folder below. */
  readonly dataDir: string
  /** The program, `sampan-node.js`. */
  readonly entry: string
  /** Addresses of pods and Services, reached through the nodes. */
  readonly routed: readonly string[]
  /** Interfaces and CIDRs from which others reach these through this machine. */
  readonly allowForwardingFrom: readonly string[]
  readonly clock: Clock
  readonly log: Logger
}

const DNS_PORT = 53

export class LocalNodes implements RealNodes {
  readonly #options: LocalNodesOptions
  readonly #network: LocalNetwork
  readonly #nodes: CredentialedNode[] = []
  #dnsRelay: AsyncDisposable | undefined
  #routes: AsyncDisposable | undefined

  private constructor(options: LocalNodesOptions, network: LocalNetwork) {
    this.#options = options
    this.#network = network
  }

  /** Makes the network, so that the API server can listen on it before the nodes start. */
  static async open(options: LocalNodesOptions): Promise<LocalNodes> {
    const { linux, dataDir } = options
    const routed = options.routed.filter((cidr) => !cidr.includes(':'))
    const allowed = parseSources(options.allowForwardingFrom)
    return new LocalNodes(options, await LocalNetwork.open({ linux, id: clusterId(dataDir), routed, allowed }))
  }

  get gateway(): string {
    return this.#network.gateway
  }

  async start(start: NodesStart): Promise<void> {
    const names = Array.from({ length: start.count }, (_, index) => `node-${index + 1}`)
    const nodes = names.map((name, index) => this.#network.addNode(name, index + 1))
    if (nodes[0]) this.#network.routeThrough(nodes[0])
    this.#followRoutes(nodes, start.transport)
    await Promise.all(nodes.map((node) => this.#startNode(node, start)))
  }

  /** Relays to a server on this machine's loopback, which nodes cannot reach. */
  async reachableDns(servers: readonly string[]): Promise<readonly string[]> {
    const loopback = servers.find(isLoopbackAddress)
    if (loopback === undefined) return servers
    const listen = { host: this.gateway, port: DNS_PORT }
    const server = { host: loopback, port: DNS_PORT }
    this.#dnsRelay = await startDnsRelay({ listen, server, clock: this.#options.clock }).catch((error: unknown) => {
      // Most likely that server itself, which listens on all addresses.
      this.#options.log.info('port 53 is taken; using the resolver that listens there', { ...listen, error })
      return undefined
    })
    return [this.gateway]
  }

  /** One after the other, so that they do not all restart at once. */
  async renewCredentials(): Promise<void> {
    for (const node of this.#nodes) await node.renew()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.process.stop()))
    await this.#dnsRelay?.[Symbol.asyncDispose]()
    await this.#routes?.[Symbol.asyncDispose]()
  }

  removeNetwork(): Promise<void> {
    return this.#network.remove()
  }

  /** Stops what a control plane that died left behind: for `down` without a server. */
  static async stopLeft(options: Omit<LocalNodesOptions, 'entry' | 'routed' | 'allowForwardingFrom'>): Promise<void> {
    const { dataDir, clock, log } = options
    const names = await readdir(join(dataDir, 'nodes')).catch(() => [])
    if (names.length === 0) return
    const stopping = names.map((name) => stopNode({ name, dataDir: join(dataDir, 'nodes', name) }, clock, log))
    await Promise.all(stopping)
    // Without root the network was inside a namespace that went with its last process.
    if (process.getuid?.() === 0) await LocalNetwork.removeLeft(options.linux, clusterId(dataDir))
  }

  #followRoutes(nodes: readonly LocalNode[], transport: Transport): void {
    const { clock, log } = this.#options
    const informers = createInformerFactory({ transport, clock, random: systemRandom, log })
    this.#routes = informers
    followPodRanges(this.#network, nodes, informers.informer<Node>(nodeKind))
    const slices = informers.informer<EndpointSlice>(endpointSliceKind)
    followLoadBalancers(this.#network, nodes, informers.informer<Service>(serviceKind), slices)
  }

  async #startNode({ name, address, namespace }: LocalNode, start: NodesStart): Promise<void> {
    const { entry, linux, clock, log } = this.#options
    const dataDir = join(this.#options.dataDir, 'nodes', name)
    const { server, certificates } = start
    const settings: NodeSettings = { ...start.settings, name, dataDir, address, machineAddress: this.gateway }
    // Without root a new start is in another network: nodes of an earlier one cannot be reached.
    if (settings.rootless) await stopNode(settings, clock, log)
    const credentials = { node: name, address, dataDir, server, certificates }
    const node = await CredentialedNode.start(credentials, systemClock, async () => {
      const process = new NodeProcess({ settings, namespace, entry, linux, clock, log })
      await process.start()
      return process
    })
    this.#nodes.push(node)
  }
}

/** Short enough for the name of a link, and the same at every start. */
const clusterId = (dataDir: string) => createHash('sha256').update(dataDir).digest('hex').slice(0, 8)
