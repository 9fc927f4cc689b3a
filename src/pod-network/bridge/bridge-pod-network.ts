import type { Clock } from '../../base/clock.ts'
import { KeyLock } from '../../base/key-lock.ts'
import type { Logger } from '../../base/log.ts'
import type { Conntrack } from '../../linux/conntrack.ts'
import type { Linux } from '../../linux/linux.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import type { Nftables } from '../../linux/nftables.ts'
import type { Rtnetlink } from '../../linux/rtnetlink.ts'
import { hasCode } from '../../linux/system-error.ts'
import { PodAddresses } from '../ipam/pod-addresses.ts'
import type { PodAttachment, PodNetwork, PodSandbox } from '../pod-network.ts'
import {
  deleteSandboxNamespace,
  makeSandboxNamespace,
  openSandboxNamespace,
  sandboxNamespacePath,
} from '../sandboxes/sandbox-namespace.ts'
import type { SandboxRecord, SandboxRecords } from '../sandboxes/sandbox-records.ts'
import { isIPv6, vethName } from './addresses.ts'
import { allowForwarding, ensureBridge } from './bridge-link.ts'
import { addHostPorts, forgetFlows, HostPorts, removeHostPorts } from './host-ports.ts'
import { announcePod, connectPod, forgetPod, joinBridge, POD_LINK, podLinkProblem, removeVeth } from './pod-link.ts'
import { renderTable, TABLE } from './rules.ts'

/** The kernel has long cleared away what so many others followed. */
const LINGERING_AT_MOST = 1024

export interface BridgeOptions {
  readonly linux: Linux
  readonly records: SandboxRecords
  readonly log: Logger
  readonly clock: Clock
  /** The name of the bridge. */
  readonly bridge: string
  readonly clusterCIDRs: readonly string[]
}

/** What is known once the node has its addresses. */
export interface BridgeConfiguration {
  readonly podCIDRs: readonly string[]
  readonly mtu: number
  readonly uplink: string
}

interface Configured extends BridgeConfiguration {
  readonly bridgeIndex: number
  readonly addresses: PodAddresses
}

/** A bridge, and a veth pair for each pod. */
export class BridgePodNetwork implements PodNetwork {
  readonly #options: BridgeOptions
  readonly #network: Rtnetlink
  readonly #nftables: Nftables
  readonly #conntrack: Conntrack
  readonly #hostPorts = new HostPorts()
  readonly #order = new KeyLock()
  /** Addresses whose last pod's link the kernel may not have cleared away yet. */
  readonly #lingering = new Map<string, string>()
  #configured: Configured | undefined

  constructor(options: BridgeOptions) {
    this.#options = options
    this.#network = options.linux.openRtnetlink()
    this.#nftables = options.linux.openNftables()
    this.#conntrack = options.linux.openConntrack()
    for (const sandboxId of options.records.damaged) this.#rebuild(sandboxId)
  }

  readonly needsPodCIDR = true

  get notReadyReason(): string | undefined {
    return this.#configured ? undefined : 'the node has no pod CIDR yet'
  }

  /** Makes or adopts the bridge, its rules and the pods on it. May be repeated with other values. */
  async configure(configuration: BridgeConfiguration): Promise<void> {
    const { records, bridge, linux } = this.#options
    const addresses = new PodAddresses(configuration.podCIDRs)
    const gateways = addresses.pools.map(({ gateway, cidr }) => `${gateway}/${cidr.prefixLength}`)
    const sysctl = linux.openSysctl()
    const { index } = ensureBridge(this.#network, sysctl, { name: bridge, gateways, mtu: configuration.mtu })
    allowForwarding(sysctl, bridge, configuration.uplink, gateways)
    const veths = new Set<string>()
    for (const record of records.list()) {
      const veth = vethName(record.pod.sandboxId)
      veths.add(veth)
      addresses.take(record.addresses)
      this.#hostPorts.claim(record)
      joinBridge(this.#network, { veth, bridge: index })
      if (record.addresses.length > 0) announcePod(this.#network, index, record.addresses)
    }
    this.#removeLeaks(index, veths)
    this.#configured = { ...configuration, bridgeIndex: index, addresses }
    await this.#writeRules(configuration.podCIDRs)
  }

  /** Puts back what someone else took away. */
  async repair(): Promise<void> {
    const { bridge } = this.#options
    const configured = this.#configured
    if (!configured) return
    const link = this.#network.link(bridge)
    const wanted = configured.addresses.pools.map(({ gateway, cidr }) => `${gateway}/${cidr.prefixLength}`)
    const present = this.#network.addresses().filter((address) => address.link === link?.index)
    const isWhole = link?.up && wanted.every((address) => present.some((one) => one.address === address))
    if (!isWhole) return this.configure(configured)
    if (!this.#hasRules(configured)) await this.#writeRules(configured.podCIDRs)
  }

  attach(pod: PodSandbox): Promise<PodAttachment> {
    return this.#order.run(pod.sandboxId, async () => {
      const known = this.#options.records.get(pod.sandboxId)
      const record = known ?? this.#lease(pod)
      try {
        await this.#connect(record)
      } catch (error) {
        if (!known) await this.#remove(record)
        throw error
      }
      return { netnsPath: sandboxNamespacePath(pod.sandboxId), addresses: record.addresses }
    })
  }

  detach(sandboxId: string): Promise<void> {
    return this.#order.run(sandboxId, async () => {
      const record = this.#options.records.get(sandboxId)
      if (record) await this.#remove(record)
      else deleteSandboxNamespace(this.#options.linux, sandboxId)
    })
  }

  async check(sandboxId: string): Promise<void> {
    const { linux, records } = this.#options
    const { bridgeIndex: bridge } = this.#ready()
    const record = records.get(sandboxId)
    if (!record) throw new Error(`sandbox ${sandboxId} has no network`)
    const inside = openSandboxNamespace(linux, sandboxId)
    if (!inside) throw new Error(`sandbox ${sandboxId}: its network namespace is gone`)
    try {
      const plan = { veth: vethName(sandboxId), bridge, addresses: record.addresses }
      const problem = podLinkProblem(linux, this.#network, inside, plan)
      if (problem) throw new Error(`sandbox ${sandboxId}: ${problem}`)
    } finally {
      inside[Symbol.dispose]()
    }
  }

  async list(): Promise<readonly string[]> {
    return this.#options.records.list().map(({ pod }) => pod.sandboxId)
  }

  /** Removes all of it from the node, pods included. */
  async cleanup(): Promise<void> {
    for (const sandboxId of await this.list()) await this.detach(sandboxId)
    await this.#nftables.commit(new NftTransaction().destroyTable(TABLE))
    const bridge = this.#network.link(this.#options.bridge)
    if (bridge?.kind === 'bridge') {
      // The kernel would take them away with their namespaces, some time later.
      this.#removeLeaks(bridge.index, new Set())
      this.#network.deleteLink(bridge.index)
    }
    this.#configured = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#order.settled()
    for (const each of [this.#network, this.#nftables, this.#conntrack]) each[Symbol.dispose]()
  }

  #ready(): Configured {
    if (!this.#configured) throw new Error(`the pod network is not ready: ${this.notReadyReason}`)
    return this.#configured
  }

  #lease(pod: PodSandbox): SandboxRecord {
    const { addresses } = this.#ready()
    const record: SandboxRecord = { pod, addresses: addresses.allocate() }
    try {
      this.#hostPorts.claim(record)
      this.#options.records.put(record)
    } catch (error) {
      this.#hostPorts.release(record)
      addresses.release(record.addresses)
      throw error
    }
    for (const address of record.addresses) this.#clearLingering(address)
    return record
  }

  async #connect(record: SandboxRecord): Promise<void> {
    const { linux } = this.#options
    const { bridgeIndex, mtu, addresses } = this.#ready()
    const { sandboxId } = record.pod
    const gateways = record.addresses.flatMap((address) => {
      const pool = addresses.pools.find(({ gateway }) => isIPv6(gateway) === isIPv6(address))
      return pool ? [pool.gateway] : []
    })
    const inside = openSandboxNamespace(linux, sandboxId) ?? makeSandboxNamespace(linux, record.pod)
    try {
      const plan = {
        veth: vethName(sandboxId),
        bridge: bridgeIndex,
        mtu: record.pod.mtu ?? mtu,
        addresses: record.addresses,
        gateways,
        bandwidth: record.pod.bandwidth,
      }
      await connectPod(linux, this.#network, inside, plan, this.#options.clock)
    } finally {
      inside[Symbol.dispose]()
    }
    if (!record.pod.hostPorts?.length) return
    await this.#nftables.commit(addHostPorts(new NftTransaction(), record))
    forgetFlows(this.#conntrack, record)
  }

  async #remove(record: SandboxRecord): Promise<void> {
    const { linux, records, log } = this.#options
    const { sandboxId } = record.pod
    deleteSandboxNamespace(linux, sandboxId)
    records.delete(sandboxId)
    this.#hostPorts.release(record)
    this.#configured?.addresses.release(record.addresses)
    if (this.#configured) forgetPod(this.#network, this.#configured.bridgeIndex, record.addresses)
    for (const address of record.addresses) this.#linger(address, vethName(sandboxId))
    if (!record.pod.hostPorts?.length) return
    try {
      await this.#nftables.commit(removeHostPorts(new NftTransaction(), record))
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error
      log.warn('rules of host ports were gone, writing all of them again', { sandboxId })
      if (this.#configured) await this.#writeRules(this.#configured.podCIDRs)
    }
    forgetFlows(this.#conntrack, record)
  }

  #linger(address: string, veth: string): void {
    this.#lingering.delete(address)
    this.#lingering.set(address, veth)
    for (const oldest of this.#lingering.keys()) {
      if (this.#lingering.size <= LINGERING_AT_MOST) break
      this.#lingering.delete(oldest)
    }
  }

  /** The kernel clears namespaces away in its own time; an address must not be on two links. */
  #clearLingering(address: string): void {
    const veth = this.#lingering.get(address)
    if (veth === undefined) return
    this.#lingering.delete(address)
    removeVeth(this.#network, veth)
  }

  #removeLeaks(bridge: number, known: ReadonlySet<string>): void {
    for (const link of this.#network.links()) {
      if (link.master === bridge && !known.has(link.name)) removeVeth(this.#network, link.name)
    }
  }

  async #writeRules(podCIDRs: readonly string[]): Promise<void> {
    const { bridge, clusterCIDRs, records } = this.#options
    const transaction = renderTable({ bridge, podCIDRs, clusterCIDRs })
    for (const record of records.list()) addHostPorts(transaction, record)
    await this.#nftables.commit(transaction)
  }

  #hasRules({ podCIDRs }: Configured): boolean {
    const { bridge, clusterCIDRs } = this.#options
    const { operations } = renderTable({ bridge, podCIDRs, clusterCIDRs })
    const contents = this.#nftables.list(TABLE)
    const wanted = (op: string) => operations.filter((operation) => operation.op === op).length
    return (
      contents?.rules.length === wanted('add-rule') &&
      contents.chains.length === wanted('add-chain') &&
      contents.sets.length === wanted('add-set')
    )
  }

  /** A record that cannot be read: what its pod has is still in the kernel. */
  #rebuild(sandboxId: string): void {
    const { linux, records, log } = this.#options
    const inside = openSandboxNamespace(linux, sandboxId)
    if (!inside) {
      records.delete(sandboxId)
      return
    }
    const pod = linux.openRtnetlink(inside)
    try {
      const eth0 = pod.link(POD_LINK)
      const addresses = pod
        .addresses()
        .filter(({ link, address }) => link === eth0?.index && !address.startsWith('fe80:'))
      log.warn('the record of a sandbox was damaged; its addresses were read from the kernel', { sandboxId })
      records.put({
        pod: { sandboxId, namespace: '', name: '', uid: '' },
        addresses: addresses.map(({ address }) => address.slice(0, address.indexOf('/'))),
      })
    } finally {
      pod[Symbol.dispose]()
      inside[Symbol.dispose]()
    }
  }
}
