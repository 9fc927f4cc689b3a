import type { IPFamily } from '../../base/ip-address.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import { type Nftables, NftError } from '../../linux/nftables.ts'
import { LinuxError } from '../../linux/system-error.ts'
import type { BackendOptions, ProxyNode, ServiceProxyBackend } from '../backend.ts'
import type { ServicePort, ServicePortKey } from '../service-port.ts'
import type { ServiceTable } from '../service-table.ts'
import { appendDifference, replaceTable } from './kernel-difference.ts'
import { layoutOf, TABLE_NAME } from './layout.ts'
import { OwnGenerations } from './own-generations.ts'
import { Ruleset, type RulesetContents } from './ruleset.ts'

export function createNftablesBackend(options: BackendOptions): ServiceProxyBackend {
  return new NftablesBackend(options)
}

/** What is rendered: a ServiceTable, or one that leads elsewhere. */
export type PortSource = Pick<ServiceTable, 'get' | 'ports'>

const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']

/** The families that the node has addresses of. */
function familiesOf({ nodeIPs }: ProxyNode): readonly IPFamily[] {
  const found = FAMILIES.filter((family) => nodeIPs.some((ip) => ip.includes(':') === (family === 'IPv6')))
  return found.length > 0 ? found : ['IPv4']
}

/** Also what leads to a proxy in user space, by a table of another name. */
export class NftablesBackend implements ServiceProxyBackend {
  readonly mode = 'nftables'
  readonly #options: BackendOptions
  readonly #generations = new OwnGenerations()
  #nftables: Nftables | undefined
  #rulesets: ReadonlyMap<IPFamily, Ruleset> | undefined

  readonly #tableName: string

  constructor(options: BackendOptions, tableName = TABLE_NAME) {
    this.#options = options
    this.#tableName = tableName
  }

  unsupported(): string | undefined {
    try {
      this.#open().generation()
      return undefined
    } catch (error) {
      if (error instanceof LinuxError || error instanceof Error) return `nftables: ${error.message}`
      throw error
    }
  }

  async apply(table: PortSource, changed: ReadonlySet<ServicePortKey> | 'all'): Promise<void> {
    const rulesets = this.#rulesets
    // Until this has gone through, nothing is known about the kernel.
    this.#rulesets = undefined
    if (changed === 'all' || !rulesets) this.#rulesets = await this.#applyAll(table)
    else {
      await this.#applyChanges(rulesets, table, changed)
      this.#rulesets = rulesets
    }
  }

  async cleanup(): Promise<void> {
    this.#rulesets = undefined
    await this.removeTables(this.#tableName)
  }

  /** Of all families. */
  async removeTables(name: string): Promise<void> {
    const transaction = new NftTransaction()
    for (const table of this.#open().tables()) if (table.name === name) transaction.deleteTable(table)
    await this.commit(transaction)
  }

  onDrift(listener: () => void): Disposable {
    return this.#open().watch(({ generation }) => {
      if (!this.#generations.isOwn(generation)) listener()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#nftables?.[Symbol.dispose]()
    this.#nftables = undefined
  }

  #open(): Nftables {
    this.#nftables ??= this.#options.linux.openNftables(this.#options.namespace)
    return this.#nftables
  }

  /** A change of our own, also of a table beside this one: it is no drift. */
  async commit(transaction: NftTransaction): Promise<void> {
    if (transaction.operations.length === 0) return
    await this.#open().commit(transaction)
    this.#generations.note(this.#open().generation())
  }

  async #applyChanges(
    rulesets: ReadonlyMap<IPFamily, Ruleset>,
    table: PortSource,
    changed: ReadonlySet<ServicePortKey>,
  ): Promise<void> {
    const [ahead, transaction, behind] = [new NftTransaction(), new NftTransaction(), new NftTransaction()]
    for (const [family, ruleset] of rulesets) {
      const changes: [ServicePortKey, ServicePort | undefined][] = []
      for (const key of changed) if (key.endsWith(family)) changes.push([key, table.get(key)])
      if (changes.length > 0) ruleset.change(changes, transaction, ahead, behind)
    }
    await this.commit(ahead)
    await this.commit(transaction)
    await this.commit(behind)
  }

  /** Adopts what is there: only differences are written, so that a restart moves nothing. */
  async #applyAll(table: PortSource): Promise<ReadonlyMap<IPFamily, Ruleset>> {
    const rulesets = new Map<IPFamily, Ruleset>()
    const wanted: RulesetContents[] = []
    for (const family of familiesOf(this.#options.node)) {
      const ruleset = new Ruleset(layoutOf(family, this.#tableName), this.#options.node)
      wanted.push(ruleset.load(portsOf(table, family)))
      rulesets.set(family, ruleset)
    }
    try {
      for (const transaction of this.#difference(wanted)) await this.commit(transaction)
    } catch (error) {
      if (!(error instanceof NftError)) throw error
      // Someone changed it at the same time, or in a way that cannot be undone step by step.
      const { log } = this.#options
      log.info('nftables: the table is written anew', { error: error.message })
      const transaction = new NftTransaction()
      for (const contents of wanted) replaceTable(contents, transaction)
      await this.commit(transaction)
    }
    return rulesets
  }

  /** One after the other. */
  #difference(wanted: readonly RulesetContents[]): readonly NftTransaction[] {
    const nftables = this.#open()
    const [ahead, transaction] = [new NftTransaction(), new NftTransaction()]
    for (const contents of wanted) {
      const actual = nftables.list(contents.table)
      if (!actual || !appendDifference(nftables, contents, actual, transaction, ahead))
        replaceTable(contents, transaction)
    }
    for (const table of nftables.tables()) {
      const isWanted = wanted.some((contents) => contents.table.family === table.family)
      if (table.name === this.#tableName && !isWanted) transaction.deleteTable(table)
    }
    return [ahead, transaction]
  }
}

function* portsOf(table: PortSource, family: IPFamily): Generator<ServicePort> {
  for (const port of table.ports()) if (port.family === family) yield port
}
