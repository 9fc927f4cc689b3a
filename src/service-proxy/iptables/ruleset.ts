/** All rules of one family, and texts for iptables-restore that bring the kernel to them. Pure. */
import type { IPFamily } from '../../base/ip-address.ts'
import type { ProxyNode } from '../backend.ts'
import type { ServicePort, ServicePortKey } from '../service-port.ts'
import type { Localnet } from './localnet.ts'
import { type RenderedPort, renderPort } from './render-port.ts'
import { sameChain } from './rule-form.ts'
import { hasWantedJumps, jumpsToOwn, ownChains, type SavedTables } from './saved-rules.ts'
import { JUMPS, renderSkeleton, type SharedChain, TABLES, type TableChains, type TableName } from './skeleton.ts'

const NOTHING: RenderedPort = { chains: new Map(), shared: new Map() }

export class Ruleset {
  readonly #node: ProxyNode
  readonly #skeleton: Readonly<Record<TableName, TableChains>>
  readonly #ports = new Map<ServicePortKey, RenderedPort>()

  constructor(family: IPFamily, node: ProxyNode, localnet: Localnet) {
    this.#node = node
    this.#skeleton = renderSkeleton(family, node, localnet)
  }

  /** Everything that is not yet as it should be; what is saved tells. */
  load(ports: Iterable<ServicePort>, saved: SavedTables): string {
    for (const port of ports) this.#ports.set(port.key, renderPort(this.#node, port))
    return TABLES.map((table) => this.#fullTable(table, saved)).join('')
  }

  /** What these ports change: the chains that are different now, and their rules in shared chains. */
  change(changes: Iterable<readonly [ServicePortKey, ServicePort | undefined]>): string {
    const filter = new TableText('filter')
    const nat = new TableText('nat')
    for (const [key, port] of changes) {
      const before = this.#ports.get(key) ?? NOTHING
      const after = port ? renderPort(this.#node, port) : NOTHING
      if (port) this.#ports.set(key, after)
      else this.#ports.delete(key)
      changeChains(nat, before, after)
      changeShared({ filter, nat }, before, after)
    }
    return filter.text() + nat.text()
  }

  #fullTable(table: TableName, saved: SavedTables): string {
    const text = new TableText(table)
    const known = saved.get(table)
    const wanted = this.#wantedChains(table)
    for (const [name, { ofPorts, last }] of wanted) {
      const actual = known?.get(name)
      if (!actual || !sameChain(actual, ofPorts, last)) text.write(name, [...ofPorts, ...last])
    }
    for (const name of ownChains(saved, table)) if (!wanted.has(name)) text.removeUnlessWritten(name)
    if (!hasWantedJumps(saved, table)) {
      for (const { from, rule } of jumpsToOwn(saved, table)) text.delete(from, rule)
      for (const jump of JUMPS.toReversed()) if (jump.table === table) text.insert(jump.from, jump.rule)
    }
    return text.text()
  }

  #wantedChains(table: TableName): Map<string, { readonly ofPorts: string[]; readonly last: readonly string[] }> {
    const wanted = new Map([...this.#skeleton[table]].map(([name, last]) => [name, { ofPorts: [] as string[], last }]))
    for (const { shared, chains } of this.#ports.values()) {
      for (const [place, rules] of shared) {
        const [of, chain] = place.split(' ') as [TableName, string]
        if (of === table) wanted.get(chain)!.ofPorts.push(...rules)
      }
      if (table === 'nat') for (const [name, rules] of chains) wanted.set(name, { ofPorts: [], last: rules })
    }
    return wanted
  }
}

function changeChains(nat: TableText, before: RenderedPort, after: RenderedPort): void {
  for (const [name, rules] of after.chains) {
    const known = before.chains.get(name)
    if (!known || !sameRules(known, rules)) nat.write(name, rules)
  }
  for (const name of before.chains.keys()) if (!after.chains.has(name)) nat.removeUnlessWritten(name)
}

/** New rules stand first: what belongs to the end of a shared chain stays there. */
function changeShared(
  texts: Readonly<Record<'filter' | 'nat', TableText>>,
  before: RenderedPort,
  after: RenderedPort,
): void {
  for (const place of new Set<SharedChain>([...before.shared.keys(), ...after.shared.keys()])) {
    const old = before.shared.get(place) ?? []
    const current = after.shared.get(place) ?? []
    if (sameRules(old, current)) continue
    const [table, chain] = place.split(' ') as ['filter' | 'nat', string]
    for (const rule of old) texts[table].delete(chain, rule)
    for (const rule of current.toReversed()) texts[table].insert(chain, rule)
  }
}

const sameRules = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((rule, i) => rule === b[i])

/** One table's part of a text for iptables-restore: the kernel takes all of it at once. */
export class TableText {
  readonly #table: TableName
  readonly #chains = new Map<string, readonly string[]>()
  readonly #removed = new Set<string>()
  readonly #deletions: string[] = []
  readonly #insertions: string[] = []

  constructor(table: TableName) {
    this.#table = table
  }

  /** The chain has these rules, and no others. */
  write(chain: string, rules: readonly string[]): void {
    this.#chains.set(chain, rules)
    this.#removed.delete(chain)
  }

  removeUnlessWritten(chain: string): void {
    if (!this.#chains.has(chain)) this.#removed.add(chain)
  }

  delete(chain: string, rule: string): void {
    this.#deletions.push(`-D ${chain} ${rule}\n`)
  }

  insert(chain: string, rule: string): void {
    this.#insertions.push(`-I ${chain} 1 ${rule}\n`)
  }

  text(): string {
    if (this.#chains.size + this.#removed.size + this.#deletions.length + this.#insertions.length === 0) return ''
    const lines = [`*${this.#table}\n`]
    for (const name of [...this.#chains.keys(), ...this.#removed]) lines.push(`:${name} - [0:0]\n`)
    lines.push(...this.#deletions)
    for (const [name, rules] of this.#chains) for (const rule of rules) lines.push(`-A ${name} ${rule}\n`)
    lines.push(...this.#insertions)
    for (const name of this.#removed) lines.push(`-X ${name}\n`)
    lines.push('COMMIT\n')
    return lines.join('')
  }
}

/** Takes away all that is ours. */
export function removalOf(saved: SavedTables): string {
  return TABLES.map((table) => {
    const text = new TableText(table)
    for (const { from, rule } of jumpsToOwn(saved, table)) text.delete(from, rule)
    for (const name of ownChains(saved, table)) text.removeUnlessWritten(name)
    return text.text()
  }).join('')
}
