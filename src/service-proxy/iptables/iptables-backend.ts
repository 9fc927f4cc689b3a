import type { IPFamily } from '../../base/ip-address.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import type { Nftables } from '../../linux/nftables.ts'
import type { Sysctl } from '../../linux/sysctl.ts'
import type { BackendOptions, ProxyNode, ServiceProxyBackend } from '../backend.ts'
import type { ServicePort, ServicePortKey } from '../service-port.ts'
import type { ServiceTable } from '../service-table.ts'
import { watchCanaries } from './canary-watch.ts'
import { ForeignChanges } from './foreign-changes.ts'
import { type IptablesCommands, type IptablesVariant, machineIptables } from './iptables-commands.ts'
import { legacyTables } from './legacy-tables.ts'
import { LegacyWatch } from './legacy-watch.ts'
import { localnetOf, restoreLocalnet, routeLocalnet } from './localnet.ts'
import { Ruleset, removalOf } from './ruleset.ts'
import { hasOwnChains, parseSaved } from './saved-rules.ts'
import { CANARY_CHAIN, TABLES } from './skeleton.ts'

export interface IptablesSettings {
  /** Which of the machine's iptables; the one it prefers unless given. */
  readonly variant?: IptablesVariant
  readonly commands?: IptablesCommands
}

export function createIptablesBackend(options: BackendOptions, settings: IptablesSettings = {}): ServiceProxyBackend {
  return new IptablesBackend(options, settings)
}

const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']

/** The families that the node has addresses of. */
function familiesOf({ nodeIPs }: ProxyNode): readonly IPFamily[] {
  const found = FAMILIES.filter((family) => nodeIPs.some((ip) => ip.includes(':') === (family === 'IPv6')))
  return found.length > 0 ? found : ['IPv4']
}

class IptablesBackend implements ServiceProxyBackend {
  readonly mode = 'iptables'
  readonly #options: BackendOptions
  readonly #settings: IptablesSettings
  readonly #commands: IptablesCommands
  #rulesets: ReadonlyMap<IPFamily, Ruleset> | undefined
  #foreign: ForeignChanges | undefined
  readonly #legacy: LegacyWatch

  constructor(options: BackendOptions, settings: IptablesSettings) {
    this.#options = options
    this.#settings = settings
    this.#commands = settings.commands ?? machineIptables(options, settings.variant ?? '')
    this.#legacy = new LegacyWatch(this.#commands, options.clock)
  }

  unsupported(): string | undefined {
    return this.#commands.unsupported()
  }

  apply(table: ServiceTable, changed: ReadonlySet<ServicePortKey> | 'all'): Promise<void> {
    this.#foreign ??= new ForeignChanges(this.#options.linux, this.#options.namespace)
    return this.#foreign.during(() => this.#apply(table, changed))
  }

  async #apply(table: ServiceTable, changed: ReadonlySet<ServicePortKey> | 'all'): Promise<void> {
    const rulesets = this.#rulesets
    // Until this has gone through, nothing is known about the kernel.
    this.#rulesets = undefined
    this.#legacy.forget()
    if (changed === 'all' || !rulesets) this.#rulesets = await this.#applyAll(table)
    else {
      for (const [family, ruleset] of rulesets) {
        const changes: [ServicePortKey, ServicePort | undefined][] = []
        for (const key of changed) if (key.endsWith(family)) changes.push([key, table.get(key)])
        if (changes.length > 0) await this.#commands.restore(family, ruleset.change(changes))
      }
      this.#rulesets = rulesets
    }
    this.#legacy.remember([...this.#rulesets.keys()])
  }

  async cleanup(): Promise<void> {
    this.#rulesets = undefined
    for (const { commands, families } of this.#places()) {
      for (const family of families) {
        const saved = parseSaved(await commands.save(family))
        restoreLocalnet(saved, this.#sysctl)
        if (hasOwnChains(saved)) await commands.restore(family, removalOf(saved))
      }
    }
    await this.#removeEmptyTables()
  }

  onDrift(listener: () => void): Disposable {
    const { clock, node } = this.#options
    const watches = [
      watchCanaries(this.#commands, familiesOf(node), clock, () => this.#legacy.isAsLeft(), listener),
      this.#foreign?.onChange(listener),
    ]
    return { [Symbol.dispose]: () => watches.forEach((watch) => void watch?.[Symbol.dispose]()) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#rulesets = undefined
    this.#foreign?.[Symbol.dispose]()
    this.#foreign = undefined
  }

  get #sysctl(): Sysctl {
    return this.#options.linux.openSysctl(this.#options.namespace)
  }

  async #applyAll(table: ServiceTable): Promise<ReadonlyMap<IPFamily, Ruleset>> {
    const { node } = this.#options
    const rulesets = new Map<IPFamily, Ruleset>()
    for (const family of familiesOf(node)) {
      const saved = parseSaved(await this.#commands.save(family))
      const localnet = localnetOf(family, node, saved, this.#sysctl)
      const ruleset = new Ruleset(family, node, localnet)
      await this.#commands.restore(family, ruleset.load(portsOf(table, family), saved))
      routeLocalnet(localnet, this.#sysctl)
      rulesets.set(family, ruleset)
    }
    return rulesets
  }

  /** Where rules of this mode may be, of this process or a former one; nothing is started where there can be none. */
  #places(): { commands: IptablesCommands; families: readonly IPFamily[] }[] {
    if (this.#settings.commands) return [{ commands: this.#settings.commands, families: FAMILIES }]
    const places = [
      { commands: this.#variant('nft'), families: this.#inNftables((nftables) => nftFamilies(nftables)) },
      { commands: this.#variant('legacy'), families: legacyTables(this.#options) },
    ]
    return places.filter(({ commands, families }) => families.length > 0 && commands.unsupported() === undefined)
  }

  #variant(variant: 'nft' | 'legacy'): IptablesCommands {
    const commands = machineIptables(this.#options, variant)
    return commands.unsupported() === undefined ? commands : this.#commands
  }

  /** iptables makes its tables as it needs them, but leaves them: what says nothing goes. */
  async #removeEmptyTables(): Promise<void> {
    await this.#inNftables(async (nftables) => {
      const transaction = new NftTransaction()
      const generation = nftables.generation()
      for (const table of nftables.tables()) {
        if (table.family === 'inet' || !(TABLES as readonly string[]).includes(table.name)) continue
        const { chains, rules, sets } = nftables.list(table) ?? { chains: [], rules: [], sets: [] }
        const isEmpty = chains.every(({ base }) => base !== undefined && base.policy !== 'drop')
        if (isEmpty && rules.length === 0 && sets.length === 0) transaction.deleteTable(table)
      }
      if (transaction.operations.length > 0) await nftables.commit(transaction, { generation })
    })
  }

  #inNftables<T>(work: (nftables: Nftables) => T): T {
    const nftables = this.#options.linux.openNftables(this.#options.namespace)
    const close = () => nftables[Symbol.dispose]()
    const result = work(nftables)
    if (result instanceof Promise) return result.finally(close) as T
    close()
    return result
  }
}

function nftFamilies(nftables: Nftables): readonly IPFamily[] {
  return FAMILIES.filter((family) => {
    const table = { family: family === 'IPv4' ? 'ip' : 'ip6', name: 'mangle' } as const
    const others = { ...table, name: 'nat' }
    return [table, others].some((one) => nftables.list(one)?.chains.some(({ name }) => name === CANARY_CHAIN))
  })
}

function* portsOf(table: ServiceTable, family: IPFamily): Generator<ServicePort> {
  for (const port of table.ports()) if (port.family === family) yield port
}
