/** All that the table of one family should hold, kept up to date port by port. Pure: it says what to change, others do it. */
import { getOrCreate } from '../../base/get-or-create.ts'
import type { NftTransaction } from '../../linux/nft-transaction.ts'
import type { NftElement, NftSet, NftTable } from '../../linux/nftables.ts'
import type { ProxyNode } from '../backend.ts'
import type { ServicePort, ServicePortKey } from '../service-port.ts'
import { ElementChanges, keyText } from './element-changes.ts'
import type { Layout } from './layout.ts'
import type { Slots } from './load-balancing.ts'
import { type RenderContext, renderContext, renderPort } from './render-port.ts'
import { type Rendered, type RenderedChain, renderSkeleton } from './skeleton.ts'
import { assignSlots } from './slots.ts'

interface PortState {
  readonly port: ServicePort
  readonly slots: Slots
}

interface Counted<T> {
  object: T
  uses: number
  /** Whether it is in the kernel. */
  isLive: boolean
  /** It is, but with other rules. */
  isStale: boolean
}

export interface RulesetContents {
  readonly table: NftTable
  readonly sets: readonly NftSet[]
  readonly chains: readonly RenderedChain[]
  readonly elements: ReadonlyMap<NftSet, readonly NftElement[]>
}

export class Ruleset {
  readonly layout: Layout
  readonly #context: RenderContext
  readonly #skeleton: Rendered
  readonly #ports = new Map<ServicePortKey, PortState>()
  readonly #chains = new Map<string, Counted<RenderedChain>>()
  readonly #sets = new Map<string, Counted<NftSet>>()
  /** Chains that nobody uses yet, and that are not in the kernel. */
  #spares: Counted<RenderedChain>[] = []
  /** Several ports may want the same element of these. */
  readonly #shared: ReadonlyMap<NftSet, Map<string, number>>

  constructor(layout: Layout, node: ProxyNode) {
    this.layout = layout
    this.#context = renderContext(layout, node)
    this.#skeleton = renderSkeleton(layout, node)
    this.#shared = new Map([
      [layout.sets['cluster-ips'], new Map()],
      [layout.sets.hairpin, new Map()],
    ])
  }

  /**
   * Takes the new state of ports (undefined: gone) and appends what that means for the kernel. New chains may be made
   * `ahead`, before anything leads to them: a packet on its way through the rules while others come into force keeps to the
   * old rules, among which a new chain is empty, but finds the new elements, which lead to it. Chains that nothing leads
   * to yet may come `behind`.
   */
  change(
    changes: Iterable<readonly [ServicePortKey, ServicePort | undefined]>,
    transaction: NftTransaction,
    ahead = transaction,
    behind = transaction,
  ): void {
    const elements = new ElementChanges(this.#shared)
    const touched: Rendered[] = []
    const added: Rendered[] = []
    for (const [key, port] of changes) {
      const old = this.#ports.get(key)
      if (old) touched.push(this.#render(old))
      if (port) {
        const slots = slotsFor(port, old?.slots)
        this.#ports.set(key, { port, slots })
        added.push(this.#render({ port, slots }))
      } else this.#ports.delete(key)
    }
    // Removals first: an address may go from one port to another.
    for (const rendered of touched) elements.remove(rendered.elements)
    for (const rendered of added) elements.add(rendered.elements)
    for (const rendered of added) this.#retain(rendered)
    for (const rendered of touched) this.#release(rendered)
    this.#append(transaction, ahead, [...touched, ...added], elements)
    this.#appendSpares(behind)
  }

  /** Takes all ports of a table at once, into an empty ruleset, and gives everything that should stand in the kernel. */
  load(ports: Iterable<ServicePort>): RulesetContents {
    const bySet = new Map<string, NftElement[]>()
    const put = ({ elements }: Rendered) => {
      for (const { set, element } of elements) {
        if (this.#isCounted(set, element)) continue
        const list = bySet.get(set.name)
        if (list) list.push(element)
        else bySet.set(set.name, [element])
      }
    }
    put(this.#skeleton)
    for (const port of ports) {
      const state = { port, slots: slotsFor(port, undefined) }
      this.#ports.set(port.key, state)
      const rendered = this.#render(state)
      this.#retain(rendered)
      put(rendered)
    }
    this.#spares = []
    for (const counted of [...this.#chains.values(), ...this.#sets.values()]) {
      counted.isLive = true
      counted.isStale = false
    }
    const sets = [...this.#skeleton.sets, ...Array.from(this.#sets.values(), ({ object }) => object)]
    const chains = [...Array.from(this.#chains.values(), ({ object }) => object), ...this.#skeleton.chains]
    return {
      table: this.layout.table,
      sets,
      chains,
      elements: new Map(sets.map((set) => [set, bySet.get(set.name) ?? []])),
    }
  }

  /** Counts one more user of a shared element; true if it had some already. */
  #isCounted(set: NftSet, element: NftElement): boolean {
    const counts = this.#shared.get(set)
    if (!counts) return false
    const key = keyText(element)
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    return count > 0
  }

  #render({ port, slots }: PortState): Rendered {
    return renderPort(this.#context, port, slots)
  }

  #retain({ chains, sets }: Rendered): void {
    for (const chain of chains) {
      const counted = getOrCreate(this.#chains, chain.name, () => unused(chain))
      if (counted.uses++ === 0) this.#spare(chain.neighbours?.() ?? [])
      if (!chain.isOwn) continue
      counted.object = chain
      counted.isStale = true
    }
    for (const set of sets) getOrCreate(this.#sets, set.name, () => unused(set)).uses++
  }

  #spare(chains: readonly RenderedChain[]): void {
    for (const chain of chains) {
      if (this.#chains.has(chain.name)) continue
      const counted = unused(chain)
      this.#chains.set(chain.name, counted)
      this.#spares.push(counted)
    }
  }

  #release({ chains, sets }: Rendered): void {
    for (const { name } of chains) this.#chains.get(name)!.uses--
    for (const { name } of sets) this.#sets.get(name)!.uses--
  }

  #append(
    transaction: NftTransaction,
    ahead: NftTransaction,
    rendered: readonly Rendered[],
    elements: ElementChanges,
  ): void {
    const { table } = this.layout
    const chains = touchedOf(
      this.#chains,
      rendered.flatMap((one) => one.chains),
    )
    const sets = touchedOf(
      this.#sets,
      rendered.flatMap((one) => one.sets),
    )
    const goneChains = chains.filter(({ object, uses }) => uses === 0 && !object.neighbours)
    const goneSets = sets.filter(({ uses }) => uses === 0)
    for (const one of sets) if (one.uses > 0 && !one.isLive) ahead.addSet(one.object)
    for (const one of chains) if (one.uses > 0 && !one.isLive) this.#addChain(ahead, one)
    for (const one of chains) if (one.uses > 0) this.#writeRules(one.isLive ? transaction : ahead, one)
    elements.append(transaction, (set) => this.#sets.get(set.name)?.uses === 0)
    for (const one of goneChains) if (one.isLive) transaction.flushChain({ table, name: one.object.name })
    for (const one of goneSets) if (one.isLive) transaction.deleteSet(one.object)
    for (const one of goneChains) if (one.isLive) transaction.deleteChain({ table, name: one.object.name })
    for (const one of goneChains) this.#chains.delete(one.object.name)
    for (const one of goneSets) this.#sets.delete(one.object.name)
    for (const one of [...chains, ...sets]) one.isLive = true
  }

  #appendSpares(transaction: NftTransaction): void {
    for (const one of this.#spares) {
      if (one.isLive) continue
      this.#addChain(transaction, one)
      this.#writeRules(transaction, one)
      one.isLive = true
    }
    this.#spares = []
  }

  #addChain(transaction: NftTransaction, { object: { name, base } }: Counted<RenderedChain>): void {
    transaction.addChain({ table: this.layout.table, name, ...(base && { base }) })
  }

  #writeRules(transaction: NftTransaction, counted: Counted<RenderedChain>): void {
    const chain = { table: this.layout.table, name: counted.object.name }
    if (counted.isLive && !counted.isStale) return
    if (counted.isLive) transaction.flushChain(chain)
    for (const rule of counted.object.rules) transaction.addRule(chain, rule)
    counted.isStale = false
  }
}

const unused = <T>(object: T): Counted<T> => ({ object, uses: 0, isLive: false, isStale: false })

function touchedOf<T extends { readonly name: string }>(
  all: ReadonlyMap<string, Counted<T>>,
  objects: readonly T[],
): Counted<T>[] {
  return [...new Set(objects.map(({ name }) => name))].map((name) => all.get(name)!)
}

const slotsFor = (port: ServicePort, previous: Slots | undefined): Slots => ({
  cluster: assignSlots(previous?.cluster ?? [], port.clusterEndpoints),
  local: assignSlots(previous?.local ?? [], port.localEndpoints),
})
