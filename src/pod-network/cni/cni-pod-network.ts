import { KeyLock } from '../../base/key-lock.ts'
import type { Logger } from '../../base/log.ts'
import type { Linux } from '../../linux/linux.ts'
import { LOOPBACK_INDEX } from '../../linux/rtnetlink.ts'
import type { PodAttachment, PodNetwork, PodSandbox } from '../pod-network.ts'
import {
  deleteSandboxNamespace,
  openSandboxNamespace,
  sandboxNamespace,
  sandboxNamespacePath,
} from '../sandboxes/sandbox-namespace.ts'
import type { SandboxRecords } from '../sandboxes/sandbox-records.ts'
import { addToNetwork, checkNetwork, deleteFromNetwork } from './chain.ts'
import { loadConfiguration, type NetworkConfiguration } from './configuration.ts'
import { type CniResult, podAddresses } from './result.ts'
import type { PluginHost } from './run-plugin.ts'

export interface CniOptions extends PluginHost {
  readonly linux: Linux
  readonly records: SandboxRecords
  readonly log: Logger
  readonly confDir: string
}

/** What DEL and CHECK need to know again: the configuration may have changed since. Without result ADD did not end well. */
interface CniRecord {
  readonly network: NetworkConfiguration
  readonly result?: CniResult
}

const POD_LINK = 'eth0'

/** The network of pods made by CNI plugins; only the namespace and its loopback are ours. */
export class CniPodNetwork implements PodNetwork {
  readonly needsPodCIDR = false
  readonly #options: CniOptions
  readonly #order = new KeyLock()

  constructor(options: CniOptions) {
    this.#options = options
    // What plugins were told is lost; the namespace goes when the sandbox is detached.
    for (const sandboxId of options.records.damaged) {
      options.records.put({ pod: { sandboxId, namespace: '', name: '', uid: '' }, addresses: [] })
    }
  }

  /** Read again each time: a plugin's own DaemonSet may install it at any moment. */
  get notReadyReason(): string | undefined {
    const { confDir } = this.#options
    return this.#configuration() ? undefined : `cni plugin not initialized: no network configuration in ${confDir}`
  }

  async configure(): Promise<void> {}

  async repair(): Promise<void> {}

  attach(pod: PodSandbox): Promise<PodAttachment> {
    return this.#order.run(pod.sandboxId, async () => {
      const { records } = this.#options
      const known = records.get(pod.sandboxId)
      const { result } = (known?.cni ?? {}) as Partial<CniRecord>
      const addresses = known && result && this.#isThere(pod.sandboxId) ? known.addresses : await this.#add(pod)
      return { netnsPath: sandboxNamespacePath(pod.sandboxId), addresses }
    })
  }

  detach(sandboxId: string): Promise<void> {
    return this.#order.run(sandboxId, () => this.#delete(sandboxId))
  }

  async check(sandboxId: string): Promise<void> {
    const record = this.#options.records.get(sandboxId)
    const { network, result } = (record?.cni ?? {}) as Partial<CniRecord>
    if (!record || !network || !result) throw new Error(`sandbox ${sandboxId} has no network`)
    if (!this.#isThere(sandboxId)) throw new Error(`sandbox ${sandboxId}: its network namespace is gone`)
    await checkNetwork(this.#options, this.#attachment(network, record.pod), result)
  }

  async list(): Promise<readonly string[]> {
    return this.#options.records.list().map(({ pod }) => pod.sandboxId)
  }

  async cleanup(): Promise<void> {
    for (const sandboxId of await this.list()) await this.detach(sandboxId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#order.settled()
  }

  async #add(pod: PodSandbox): Promise<readonly string[]> {
    const { linux, records } = this.#options
    const network = this.#configuration()
    if (!network) throw new Error(`the pod network is not ready: ${this.notReadyReason}`)
    // An attempt that did not end well, or one before the machine was started again: plugins add the same only once.
    if (records.get(pod.sandboxId)) await this.#delete(pod.sandboxId)
    // Before anything is made, so that it can be undone whenever this process ends.
    records.put({ pod, addresses: [], cni: { network } satisfies CniRecord })
    try {
      makeNamespace(linux, pod.sandboxId)
      const result = await addToNetwork(this.#options, this.#attachment(network, pod))
      const addresses = podAddresses(result, POD_LINK)
      if (addresses.length === 0) throw new Error(`CNI network ${network.name} gave the pod no address`)
      records.put({ pod, addresses, cni: { network, result } satisfies CniRecord })
      return addresses
    } catch (error) {
      await this.#delete(pod.sandboxId).catch((problem: unknown) =>
        this.#options.log.warn('a failed network could not be removed', { sandboxId: pod.sandboxId, error: problem }),
      )
      throw error
    }
  }

  async #delete(sandboxId: string): Promise<void> {
    const { linux, records } = this.#options
    const record = records.get(sandboxId)
    const { network, result } = (record?.cni ?? {}) as Partial<CniRecord>
    if (record && network) await deleteFromNetwork(this.#options, this.#attachment(network, record.pod), result)
    deleteSandboxNamespace(linux, sandboxId)
    records.delete(sandboxId)
  }

  #attachment(network: NetworkConfiguration, pod: PodSandbox) {
    const netns = this.#isThere(pod.sandboxId) ? sandboxNamespacePath(pod.sandboxId) : ''
    return { network, pod, netns, ifName: POD_LINK }
  }

  #isThere(sandboxId: string): boolean {
    const inside = openSandboxNamespace(this.#options.linux, sandboxId)
    inside?.[Symbol.dispose]()
    return inside !== undefined
  }

  #configuration(): NetworkConfiguration | undefined {
    const { confDir, log } = this.#options
    return loadConfiguration(confDir, (file, error) => log.warn('no CNI configuration', { file, error }))
  }
}

function makeNamespace(linux: Linux, sandboxId: string): void {
  const inside = openSandboxNamespace(linux, sandboxId) ?? linux.namespaces.create(sandboxNamespace(sandboxId))
  const network = linux.openRtnetlink(inside)
  try {
    network.changeLink(LOOPBACK_INDEX, { up: true })
  } finally {
    network[Symbol.dispose]()
    inside[Symbol.dispose]()
  }
}
