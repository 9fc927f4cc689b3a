/** All that the table of one family should hold, kept up to date port by port. Pure: it says what to change, others do it. */
import type { NftTransaction } from '../../linux/nft-transaction.ts'
import type { NftElement, NftSet } from '../../linux/nftables.ts'
import type { ProxyNode } from '../backend.ts'
import type { ServicePort, ServicePortKey } from '../service-port.ts'
import { ElementChanges, keyText } from './element-changes.ts'
import type { Layout } from './layout.ts'
import type { Slots } from './load-balancing.ts'
import { renderPort } from './render-port.ts'
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

export class Ruleset {
  readonly layout: Layout
  readonly #node: ProxyNode
  readonly #skeleton: Rendered
  readonly #ports = new Map<ServicePortKey, PortState>()
  readonly #chains = new Map<string, Counted<RenderedChain>>()
  readonly #sets = new Map<string, Counted<NftSet>>()
  /** Several ports may want the same element of these. */
  readonly #shared: ReadonlyMap<NftSet, Map<string, number>>

  constructor(layout: Layout, node: ProxyNode) {
    this.layout = layout
    this.#node = node
    this.#skeleton = renderSkeleton(layout, node)
    this.#shared = new Map([
      [layout.sets['cluster-ips'], new Map()],
      [layout.sets.hairpin, new Map()],
    ])
  }

  /** Takes the new state of ports (undefined: gone) and appends what that means for the kernel. */
  change(changes: Iterable<readonly [ServicePortKey, ServicePort | undefined]>, transaction: NftTransaction): void {
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
    this.#append(transaction, [...touched, ...added], elements)
  }

  /** Everything, as it should stand in the kernel. */
  contents(): { sets: NftSet[]; chains: RenderedChain[]; elements: Map<NftSet, Map<string, NftElement>> } {
    const elements = new Map<NftSet, Map<string, NftElement>>()
    const sets = [...this.#skeleton.sets, ...Array.from(this.#sets.values(), ({ object }) => object)]
    const byName = new Map(sets.map((set) => [set.name, set]))
    for (const set of sets) elements.set(set, new Map())
    const put = (rendered: Rendered) => {
      for (const { set, element } of rendered.elements) {
        elements.get(byName.get(set.name)!)!.set(keyText(element), element)
      }
    }
    put(this.#skeleton)
    for (const state of this.#ports.values()) put(this.#render(state))
    const chains = [...Array.from(this.#chains.values(), ({ object }) => object), ...this.#skeleton.chains]
    return { sets, chains, elements }
  }

  /** The kernel has all of `contents` now. */
  committed(): void {
    for (const counted of [...this.#chains.values(), ...this.#sets.values()]) {
      counted.isLive = true
      counted.isStale = false
    }
  }

  #render({ port, slots }: PortState): Rendered {
    return renderPort(this.layout, this.#node, port, slots)
  }

  #retain({ chains, sets }: Rendered): void {
    for (const chain of chains) {
      const counted = this.#chains.get(chain.name)
      if (!counted) {
        this.#chains.set(chain.name, { object: chain, uses: 1, isLive: false, isStale: false })
        continue
      }
      counted.uses++
      if (!chain.isOwn) continue
      counted.object = chain
      counted.isStale = true
    }
    for (const set of sets) {
      const counted = this.#sets.get(set.name)
      if (counted) counted.uses++
      else this.#sets.set(set.name, { object: set, uses: 1, isLive: false, isStale: false })
    }
  }

  #release({ chains, sets }: Rendered): void {
    for (const { name } of chains) this.#chains.get(name)!.uses--
    for (const { name } of sets) this.#sets.get(name)!.uses--
  }

  #append(transaction: NftTransaction, rendered: readonly Rendered[], elements: ElementChanges): void {
    const { table } = this.layout
    const chains = touchedOf(
      this.#chains,
      rendered.flatMap((one) => one.chains),
    )
    const sets = touchedOf(
      this.#sets,
      rendered.flatMap((one) => one.sets),
    )
    const goneChains = chains.filter(({ uses }) => uses === 0)
    const goneSets = sets.filter(({ uses }) => uses === 0)
    for (const one of sets) if (one.uses > 0 && !one.isLive) transaction.addSet(one.object)
    for (const one of chains) {
      if (one.uses > 0 && !one.isLive) transaction.addChain({ table, name: one.object.name })
    }
    for (const one of chains) if (one.uses > 0) this.#writeRules(transaction, one)
    elements.append(transaction, (set) => this.#sets.get(set.name)?.uses === 0)
    for (const one of goneChains) if (one.isLive) transaction.flushChain({ table, name: one.object.name })
    for (const one of goneSets) if (one.isLive) transaction.deleteSet(one.object)
    for (const one of goneChains) if (one.isLive) transaction.deleteChain({ table, name: one.object.name })
    for (const one of goneChains) this.#chains.delete(one.object.name)
    for (const one of goneSets) this.#sets.delete(one.object.name)
    for (const one of [...chains, ...sets]) one.isLive = true
  }

  #writeRules(transaction: NftTransaction, counted: Counted<RenderedChain>): void {
    const chain = { table: this.layout.table, name: counted.object.name }
    if (counted.isLive && !counted.isStale) return
    if (counted.isLive) transaction.flushChain(chain)
    for (const rule of counted.object.rules) transaction.addRule(chain, rule)
    counted.isStale = false
  }
}

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
