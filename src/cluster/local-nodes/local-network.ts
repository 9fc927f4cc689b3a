/**
 * The network between the nodes of one machine. Each node is a network namespace, as if it were a machine of its own; a
 * bridge in the namespace of this process is the Ethernet between them, and their way out.
 *
 *     this machine ── bridge 172.30.0.1 ──┬── eth0 172.30.0.2 (node-1)
 *                                         └── eth0 172.30.0.3 (node-2)
 */
import { cidrsOverlap, formatIP, parseCIDR } from '../../base/ip-address.ts'
import { isRouter } from '../../linux/forwarding.ts'
import type { Linux } from '../../linux/linux.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import { encodeValue, encodeValues } from '../../linux/nft-values.ts'
import type { Nftables, NftTable } from '../../linux/nftables.ts'
import { LOOPBACK_INDEX, type Route, type Rtnetlink } from '../../linux/rtnetlink.ts'
import { hasCode } from '../../linux/system-error.ts'
import type { Sources } from '../../pod-network/forwarding-sources.ts'
import { addNeighbourGuard } from '../../pod-network/neighbour-guard.ts'
import { NODE_NETWORKS, overlap } from './network-ranges.ts'

export interface LocalNetworkOptions {
  readonly linux: Linux
  /** Short and unique on this machine: part of the names of links and namespaces. */
  readonly id: string
  /** Pods' and Services' addresses, reached through the first node. */
  readonly routed: readonly string[]
  /** Other machines that may reach nodes, pods and Services through this one; none unless given. */
  readonly allowed?: Sources
}

export interface LocalNode {
  readonly name: string
  /** As `ip netns` names it. */
  readonly namespace: string
  readonly address: string
}

/** The first /24 that overlaps nothing this machine knows. */
const CANDIDATES = Array.from({ length: 256 }, (_, third) => `${NODE_NETWORKS.split('.', 2).join('.')}.${third}.0/24`)
const FORWARDING = 'net/ipv4/ip_forward'
/** A chain that no packet meets: it remembers, for as long as our table is there, that we turned forwarding on. */
const FORWARDING_WAS_OFF = 'forwarding-was-off'
const PREFIX = 24

export class LocalNetwork {
  /** The address of this machine on the bridge: where nodes find the API server. */
  readonly gateway: string
  readonly #linux: Linux
  readonly #id: string
  readonly #routed: readonly string[]
  readonly #allowed: Sources
  readonly #subnet: string
  readonly #bridge: number

  private constructor(options: LocalNetworkOptions, subnet: string, bridge: number) {
    this.#linux = options.linux
    this.#id = options.id
    this.#routed = options.routed
    this.#allowed = options.allowed ?? { links: [], cidrs: [] }
    this.#subnet = subnet
    this.#bridge = bridge
    this.gateway = addressIn(subnet, 1)
  }

  /** Makes the bridge, or finds the one that an earlier process made. */
  static async open(options: LocalNetworkOptions): Promise<LocalNetwork> {
    using network = options.linux.openRtnetlink()
    // Down in a network that was made for this process.
    network.changeLink(LOOPBACK_INDEX, { up: true })
    const name = bridgeName(options.id)
    const bridge = network.link(name) ?? network.addLink({ kind: 'bridge', name, up: true })
    const known = network.addresses().find(({ link, address }) => link === bridge.index && !address.includes(':'))
    const subnet = known ? subnetOf(known.address) : freeSubnet(network)
    if (!known) network.addAddress({ link: bridge.index, address: `${addressIn(subnet, 1)}/${PREFIX}` })
    const opened = new LocalNetwork(options, subnet, bridge.index)
    await opened.#filter()
    return opened
  }

  /** The `number`th node, from 1: its namespace with a link to the bridge. Done already: nothing changes. */
  addNode(name: string, number: number): LocalNode {
    const node = { name, namespace: `sampan-${this.#id}-${name}`, address: addressIn(this.#subnet, number + 1) }
    const { namespaces } = this.#linux
    using namespace = namespaces.list().includes(node.namespace)
      ? namespaces.open(node.namespace)
      : namespaces.create(node.namespace)
    using inside = this.#linux.openRtnetlink(namespace)
    inside.changeLink(LOOPBACK_INDEX, { up: true })
    if (!inside.link('eth0')) {
      using network = this.#linux.openRtnetlink()
      const link = `sp${this.#id.slice(0, 6)}-${number}`
      network.addLink({ kind: 'veth', name: link, up: true, master: this.#bridge, peer: { name: 'eth0', namespace } })
    }
    const eth0 = inside.link('eth0')!.index
    inside.changeLink(eth0, { up: true })
    const address = `${node.address}/${PREFIX}`
    if (!inside.addresses().some((known) => known.link === eth0 && known.address === address)) {
      inside.addAddress({ link: eth0, address })
    }
    inside.replaceRoute({ destination: '0.0.0.0/0', gateway: this.gateway, link: eth0 })
    return node
  }

  /** So that pods and Services can be reached from this machine too; what is routed elsewhere already stays so. */
  routeThrough(node: LocalNode): void {
    using network = this.#linux.openRtnetlink()
    for (const destination of this.#ownRanges(network))
      network.replaceRoute({ destination, gateway: node.address, link: this.#bridge })
  }

  #ownRanges(network: Rtnetlink): string[] {
    const elsewhere = network.routes().filter(({ link }) => link !== this.#bridge)
    return this.#routed.filter((range) => !elsewhere.some(({ destination }) => destination === range))
  }

  /** One node's part of what is routed to this cluster already. */
  route(destination: string, node: LocalNode): void {
    using network = this.#linux.openRtnetlink()
    const range = parseCIDR(destination)!
    const isWay = (route: Route) => route.link === this.#bridge && cidrsOverlap(parseCIDR(route.destination)!, range)
    if (network.routes().some(isWay)) network.replaceRoute({ destination, gateway: node.address, link: this.#bridge })
  }

  unroute(destination: string, node: LocalNode): void {
    using network = this.#linux.openRtnetlink()
    const isIts = (route: Route) => route.destination === destination && route.gateway === node.address
    for (const route of network.routes().filter(isIts)) network.deleteRoute(route)
  }

  removeNode(node: Pick<LocalNode, 'namespace'>): void {
    if (this.#linux.namespaces.list().includes(node.namespace)) this.#linux.namespaces.delete(node.namespace)
  }

  /** Takes away the bridge and all nodes' namespaces; the routes go with it. */
  remove(): Promise<void> {
    return LocalNetwork.removeLeft(this.#linux, this.#id)
  }

  /** The same for a network that another process made; nothing to do is no error. */
  static async removeLeft(linux: Linux, id: string): Promise<void> {
    for (const name of linux.namespaces.list()) {
      if (name.startsWith(`sampan-${id}-`)) linux.namespaces.delete(name)
    }
    using nftables = linux.openNftables()
    const wasOff = forwardingWasOff(nftables, id)
    await nftables.commit(new NftTransaction().destroyTable(tableOf(id)))
    using network = linux.openRtnetlink()
    const bridge = network.link(bridgeName(id))
    if (bridge) {
      const ports = network.links().filter(({ master }) => master === bridge.index)
      for (const { index } of [...ports, bridge]) deleteIfThere(network, index)
    }
    if (wasOff) await endForwarding(linux, nftables)
  }

  /**
   * What leaves the node network for the world does so with this machine's address. What stays on the bridge may pass here
   * too (br_netfilter): a node that sends to a pod of another one. Since the machine forwards packets from now on, those of
   * neighbours are dropped in the same moment.
   */
  async #filter(): Promise<void> {
    const sysctl = this.#linux.openSysctl()
    using nftables = this.#linux.openNftables()
    const wasOff = forwardingWasOff(nftables, this.#id) || sysctl.read(FORWARDING) !== '1'
    const table = tableOf(this.#id)
    const postrouting = { table, name: 'postrouting' }
    const nodes = Buffer.from(encodeValues(['ipv4_addr'], [addressIn(this.#subnet, 0)])).subarray(0, PREFIX / 8)
    const transaction = new NftTransaction().destroyTable(table).addTable(table)
    if (wasOff) transaction.addChain({ table, name: FORWARDING_WAS_OFF })
    transaction
      .addChain({ ...postrouting, base: { type: 'nat', hook: 'postrouting', priority: 100 } })
      .addRule(postrouting, {
        comment: 'nodes reach the world with the address of this machine',
        expressions: [
          { expr: 'payload', base: 'network', offset: 12, length: nodes.length, to: 0 },
          { expr: 'compare', from: 0, op: 'eq', value: nodes },
          { expr: 'meta', key: 'oifname', to: 0 },
          { expr: 'compare', from: 0, op: 'ne', value: encodeValue('ifname', bridgeName(this.#id)) },
          { expr: 'masquerade' },
        ],
      })
    using network = this.#linux.openRtnetlink()
    const { links, cidrs } = this.#allowed
    const allowed = { links: [bridgeName(this.#id), ...links], cidrs }
    addNeighbourGuard(transaction, table, { allowed, guarded: [this.#subnet, ...this.#ownRanges(network)] })
    await nftables.commit(transaction)
    if (sysctl.read(FORWARDING) !== '1') sysctl.write(FORWARDING, 1)
  }
}

const forwardingWasOff = (nftables: Nftables, id: string) =>
  nftables.list(tableOf(id))?.chains.some(({ name }) => name === FORWARDING_WAS_OFF) ?? false

/** Another cluster of this machine still needs it, and then remembers in our place; or somebody else does. */
async function endForwarding(linux: Linux, nftables: Nftables): Promise<void> {
  const heir = otherCluster(linux, nftables)
  if (heir) await nftables.commit(new NftTransaction().addChain({ table: heir, name: FORWARDING_WAS_OFF }))
  else if (!isRouter(linux)) linux.openSysctl().write(FORWARDING, 0)
}

function otherCluster(linux: Linux, nftables: Nftables): NftTable | undefined {
  using network = linux.openRtnetlink()
  const links = new Set(network.links().map(({ name }) => name))
  return nftables.tables().find(({ family, name }) => family === 'ip' && links.has(bridgeOfTable(name)))
}

const bridgeOfTable = (name: string) => (name.startsWith('sampan-') ? name.slice(0, 15) : '')
const tableOf = (id: string) => ({ family: 'ip', name: `sampan-${id}` }) as const
const bridgeName = (id: string) => `sampan-${id}`.slice(0, 15)

function freeSubnet(network: Rtnetlink): string {
  const texts = [...network.addresses().map(({ address }) => address), ...network.routes().map((r) => r.destination)]
  const free = CANDIDATES.find((candidate) => !texts.some((text) => overlap(candidate, text)))
  if (!free) throw new Error(`no free network in ${NODE_NETWORKS} for the nodes: remove unused ones`)
  return free
}

function subnetOf(address: string): string {
  return `${address.split('/')[0]!.split('.').slice(0, 3).join('.')}.0/${PREFIX}`
}

function addressIn(subnet: string, host: number): string {
  const range = parseCIDR(subnet)!
  return formatIP({ family: range.family, value: range.first + BigInt(host) })
}

/** The kernel takes links away with the namespace of their other end, some time after that was deleted. */
function deleteIfThere(network: Rtnetlink, index: number): void {
  try {
    network.deleteLink(index)
  } catch (error) {
    if (!hasCode(error, 'ENODEV')) throw error
  }
}
