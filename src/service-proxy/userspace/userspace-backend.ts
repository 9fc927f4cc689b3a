import type { BackendOptions, ServiceProxyBackend } from '../backend.ts'
import { NftablesBackend, type PortSource } from '../nftables/nftables-backend.ts'
import type { ServicePortKey } from '../service-port.ts'
import { LISTENER_TABLE_NAME, ListenerGuard } from './listener-guard.ts'
import { Listeners } from './listeners.ts'
import type { Relay } from './relay.ts'
import { startRelay } from './start-relay.ts'

export const USERSPACE_TABLE_NAME = 'sampan-userspace'

export interface UserspaceSettings {
  readonly startRelay?: () => Relay
}

export function createUserspaceBackend(options: BackendOptions, settings: UserspaceSettings = {}): UserspaceBackend {
  return new UserspaceBackend(options, settings)
}

/** The rules of nftables mode, in a table of its own, lead every port to a listener; the relay goes on from there. */
export class UserspaceBackend implements ServiceProxyBackend {
  readonly mode = 'userspace'
  readonly listeners: Listeners
  readonly #rules: NftablesBackend
  readonly #guard = new ListenerGuard()
  /** Until it has gone through, nothing is known of the kernel. */
  #isGuardKnown = false
  readonly #startRelay: () => Relay
  readonly #drift = new Set<() => void>()
  #relay: Relay | undefined

  constructor(options: BackendOptions, settings: UserspaceSettings) {
    this.listeners = new Listeners(options.node.nodeIPs)
    this.#rules = new NftablesBackend(options, USERSPACE_TABLE_NAME)
    this.#startRelay = settings.startRelay ?? (() => startRelay(options))
  }

  unsupported(): string | undefined {
    return this.#rules.unsupported()
  }

  async apply(table: PortSource, changed: ReadonlySet<ServicePortKey> | 'all'): Promise<void> {
    const relay = this.#openRelay()
    const unused = await this.listeners.update(relay, table, changed === 'all' ? this.#allKeys(table) : changed)
    await this.#guardListeners(changed === 'all')
    await this.#rules.apply(this.listeners.view(table), changed)
    this.listeners.close(relay, unused)
  }

  async cleanup(): Promise<void> {
    await this.#rules.cleanup()
    await this.#rules.removeTables(LISTENER_TABLE_NAME)
  }

  async #guardListeners(isAnew: boolean): Promise<void> {
    const transaction = this.#guard.changes(this.listeners.addresses(), isAnew || !this.#isGuardKnown)
    this.#isGuardKnown = false
    await this.#rules.commit(transaction)
    this.#isGuardKnown = true
  }

  onDrift(listener: () => void): Disposable {
    this.#drift.add(listener)
    const rules = this.#rules.onDrift(listener)
    return {
      [Symbol.dispose]: () => {
        this.#drift.delete(listener)
        rules[Symbol.dispose]()
      },
    }
  }

  /** Takes no more clients: here traffic cannot go on without the process, but connections that are there may end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#relay?.stop()
    this.#relay = undefined
    this.listeners.clear()
    await this.#rules[Symbol.asyncDispose]()
  }

  #openRelay(): Relay {
    if (this.#relay) return this.#relay
    const relay = this.#startRelay()
    relay.onFailure = () => {
      this.#relay = undefined
      this.listeners.clear()
      for (const listener of this.#drift) listener()
    }
    this.#relay = relay
    return relay
  }

  #allKeys(table: PortSource): Set<ServicePortKey> {
    const keys = new Set(this.listeners.keys())
    for (const { key } of table.ports()) keys.add(key)
    return keys
  }
}
