/** One port of a Service as chains, sets and elements. Pure: the same port gives the same rules. */
import { getOrCreate } from '../../base/get-or-create.ts'
import { encodeValue, encodeValues } from '../../linux/nft-values.ts'
import type { NftElement, NftRule, NftSet } from '../../linux/nftables.ts'
import type { ProxyNode } from '../backend.ts'
import {
  externalAddresses,
  externalTarget,
  internalTarget,
  PROTOCOL_NUMBERS,
  type ServicePort,
  type TrafficTarget,
} from '../service-port.ts'
import { addressText, rangesOf } from './address-ranges.ts'
import { goto, isLocalAddress, jump, type Layout, rule } from './layout.ts'
import {
  addressEndpoints,
  commentOf,
  type FrontendKind,
  nodePortEndpoints,
  numberedName,
  numberedRules,
  type Scope,
  type Slots,
  stickyChain,
  stickyEndpoints,
} from './load-balancing.ts'
import { isForeignTraffic, isPodTraffic } from './local-traffic.ts'
import {
  FIREWALL_CHAINS,
  MARK_CHAIN,
  NO_ENDPOINT_CHAINS,
  REJECT_CHAIN,
  type Rendered,
  type RenderedChain,
  type RenderedElement,
} from './skeleton.ts'

/** What ports have in common: most chains follow from their names, and are rendered once. */
export interface RenderContext {
  readonly layout: Layout
  readonly node: ProxyNode
  readonly chains: Map<string, RenderedChain>
}

export const renderContext = (layout: Layout, node: ProxyNode): RenderContext => ({ layout, node, chains: new Map() })

export function renderPort(context: RenderContext, port: ServicePort, slots: Slots): Rendered {
  return new PortRenderer(context, port, slots).render()
}

class PortRenderer {
  readonly #context: RenderContext
  readonly #layout: Layout
  readonly #node: ProxyNode
  readonly #port: ServicePort
  readonly #slots: Slots
  readonly #chains = new Map<string, RenderedChain>()
  readonly #elements: RenderedElement[] = []
  readonly #scopes = new Set<Scope>()

  constructor(context: RenderContext, port: ServicePort, slots: Slots) {
    this.#context = context
    this.#layout = context.layout
    this.#node = context.node
    this.#port = port
    this.#slots = slots
  }

  render(): Rendered {
    this.#clusterIP()
    for (const ip of externalAddresses(this.#port)) this.#external('address', ip)
    if (this.#port.nodePort !== 0) this.#external('nodeport', '')
    this.#firewall()
    this.#hairpin()
    const sticky = this.#port.affinitySeconds === undefined ? undefined : this.#sticky()
    return {
      sets: sticky?.sets ?? [],
      chains: [...(sticky?.chains ?? []), ...this.#chains.values()],
      elements: sticky ? [...sticky.elements, ...this.#elements] : this.#elements,
    }
  }

  #sticky(): Rendered {
    return stickyEndpoints(this.#layout, this.#port, [...this.#scopes], this.#slots)
  }

  #clusterIP(): void {
    const { clusterIP, internalPolicyLocal } = this.#port
    if (clusterIP === '') return
    const { sets, address } = this.#layout
    this.#add(sets['cluster-ips'], { key: encodeValue(address, clusterIP) })
    const target = internalTarget(this.#port)
    if (target !== 'balance') {
      this.#unreachable('address', clusterIP, target)
      return
    }
    const scope = internalPolicyLocal ? 'local' : 'cluster'
    // Under an internal Local policy the local endpoints are the only ones of this address, and count from 0.
    this.#lead('address', clusterIP, this.#balancing('cluster-ip', 'address', scope, 'cluster', markForeign))
    if (this.#isNumbered) this.#number('address', clusterIP, scope, 'cluster')
  }

  #external(kind: FrontendKind, ip: string): void {
    const { externalPolicyLocal, hasEndpoints } = this.#port
    if (!hasEndpoints) {
      this.#unreachable(kind, ip, 'reject')
      return
    }
    if (this.#isNumbered) this.#number(kind, ip, 'cluster', 'cluster')
    if (!externalPolicyLocal) {
      this.#lead(kind, ip, this.#clusterPolicyChain(kind))
      return
    }
    if (this.#isNumbered) this.#number(kind, ip, 'local', 'local')
    this.#lead(kind, ip, this.#localPolicyChain(kind))
    // What is not from here passes the chain untouched and meets its end in the filter.
    const target = externalTarget(this.#port)
    if (target !== 'balance') this.#unreachable(kind, ip, target)
  }

  /** The endpoint may be on another node, and its answer must come back through this one. */
  #clusterPolicyChain(kind: FrontendKind): RenderedChain {
    return this.#balancing(PREFIXES[kind], kind, 'cluster', 'cluster', markAll)
  }

  /** Pods and the node are inside already, so the policy is not for them; others keep their address and stay here. */
  #localPolicyChain(kind: FrontendKind): RenderedChain {
    const cluster = this.#balancer(kind, 'cluster')
    const local = this.#slots.local.length > 0 ? this.#balancer(kind, 'local') : undefined
    const name = `${PREFIXES[kind]}-local-${this.#suffix('cluster', cluster)}-${local ? this.#suffix('local', local) : 0}`
    const rules = () => [...this.#insideRules(cluster.name), ...(local ? [rule([goto(local.name)])] : [])]
    return this.#isNumbered
      ? getOrCreate(this.#context.chains, name, () => ({ name, rules: rules() }))
      : { name, rules: rules() }
  }

  #insideRules(clusterChain: string): NftRule[] {
    const pods = isPodTraffic(this.#layout, this.#node.localDetector)
    const fromNode = isLocalAddress('source')
    return [
      ...(pods ? [rule([...pods, goto(clusterChain)])] : []),
      rule([...fromNode, jump(MARK_CHAIN)]),
      rule([...fromNode, goto(clusterChain)]),
    ]
  }

  get #isNumbered(): boolean {
    return this.#port.affinitySeconds === undefined
  }

  /** What tells chains that balance this port from those of others. */
  #suffix(scope: Scope, balancer: RenderedChain): string {
    return this.#isNumbered ? String(this.#slots[scope].length) : balancer.name
  }

  /** A chain that balances, after rules of its own. */
  #balancing(name: string, kind: FrontendKind, scope: Scope, numberedAs: Scope, before: RulesOf): RenderedChain {
    const context = this.#context
    if (this.#isNumbered) {
      return sizedChain(context, name, this.#slots[scope].length, (size) => [
        ...before(context),
        ...numberedRules(context.layout, kind, numberedAs, size),
      ])
    }
    const { name: sticky } = this.#stickyChain(scope)
    return { name: `${name}-${sticky}`, rules: [...before(context), rule([goto(sticky)], this.#port.name)] }
  }

  /** A chain that does nothing else. */
  #balancer(kind: FrontendKind, scope: Scope): RenderedChain {
    if (!this.#isNumbered) return this.#stickyChain(scope)
    const chain = this.#balancing(numberedName(kind, scope), kind, scope, scope, () => [])
    this.#chain(chain)
    return chain
  }

  #stickyChain(scope: Scope): RenderedChain {
    this.#scopes.add(scope)
    const chain = stickyChain(this.#layout, this.#port, scope, this.#slots)
    this.#chain(chain)
    return chain
  }

  #number(kind: FrontendKind, ip: string, scope: Scope, numberedAs: Scope): void {
    const endpoints = this.#slots[scope]
    const elements =
      kind === 'address'
        ? addressEndpoints(this.#layout, this.#port, ip, numberedAs, endpoints)
        : nodePortEndpoints(this.#layout, this.#port, numberedAs, endpoints)
    for (const element of elements) this.#elements.push(element)
  }

  #lead(kind: FrontendKind, ip: string, chain: RenderedChain): void {
    this.#chain(chain)
    const set = this.#layout.sets[kind === 'address' ? 'services' : 'nodeports']
    this.#add(set, { ...this.#frontend(set, kind, ip), verdict: { verdict: 'goto', chain: chain.name } })
  }

  #unreachable(kind: FrontendKind, ip: string, target: Exclude<TrafficTarget, 'balance'>): void {
    for (const chain of NO_ENDPOINT_CHAINS) this.#chain(chain)
    const set = this.#layout.sets[kind === 'address' ? 'no-endpoint-services' : 'no-endpoint-nodeports']
    const verdict =
      target === 'drop' ? ({ verdict: 'drop' } as const) : ({ verdict: 'goto', chain: REJECT_CHAIN } as const)
    this.#add(set, { ...this.#frontend(set, kind, ip), verdict })
  }

  #frontend(set: NftSet, kind: FrontendKind, ip: string): NftElement {
    const { protocol, port, nodePort } = this.#port
    const number = PROTOCOL_NUMBERS[protocol]
    const values = kind === 'address' ? [ip, number, port] : [number, nodePort]
    return { key: encodeValues(set.key, values), comment: commentOf(this.#port) }
  }

  #firewall(): void {
    const { sourceRanges, loadBalancerIPs, family } = this.#port
    if (sourceRanges.length === 0 || loadBalancerIPs.length === 0) return
    for (const chain of FIREWALL_CHAINS) this.#chain(chain)
    const ranges = rangesOf(sourceRanges, family)
    const { sets } = this.#layout
    for (const ip of loadBalancerIPs) {
      this.#add(sets.firewall, this.#frontend(sets.firewall, 'address', ip))
      for (const { first, last } of this.#withOwnAddress(ip, ranges)) {
        const key = encodeValues(sets['firewall-sources'].key, this.#sourceValues(ip, addressText(first, family)))
        const keyEnd = encodeValues(sets['firewall-sources'].key, this.#sourceValues(ip, addressText(last, family)))
        this.#add(sets['firewall-sources'], { key, keyEnd, comment: commentOf(this.#port) })
      }
    }
  }

  #sourceValues(ip: string, from: string) {
    return [ip, PROTOCOL_NUMBERS[this.#port.protocol], this.#port.port, from]
  }

  /**
   * Where the address of the load balancer is also an address of the node, what the node sends to it carries it as source
   * too: if the node may, so may this one.
   */
  #withOwnAddress(ip: string, ranges: ReturnType<typeof rangesOf>): ReturnType<typeof rangesOf> {
    const { family, sourceRanges } = this.#port
    const nodes = rangesOf(this.#node.nodeIPs, family)
    const nodeIsAllowed = nodes.some((node) =>
      ranges.some(({ first, last }) => first <= node.first && node.last <= last),
    )
    return nodeIsAllowed ? rangesOf([...sourceRanges, ip], family) : ranges
  }

  #hairpin(): void {
    const { address, sets } = this.#layout
    const ips = new Set<string>()
    for (const scope of ['cluster', 'local'] as const) for (const { ip } of this.#slots[scope]) ips.add(ip)
    for (const ip of ips) this.#add(sets.hairpin, { key: encodeValues([address, address], [ip, ip]) })
  }

  #chain(chain: RenderedChain): void {
    this.#chains.set(chain.name, chain)
  }

  #add(set: NftSet, element: NftElement): void {
    this.#elements.push({ set, element })
  }
}

/** A chain for all ports with so many endpoints. */
function sizedChain(
  context: RenderContext,
  prefix: string,
  size: number,
  rules: (size: number) => readonly NftRule[],
): RenderedChain {
  const name = `${prefix}-${size}`
  return getOrCreate(context.chains, name, () => ({
    name,
    rules: rules(size),
    neighbours: () => [size - 1, size + 1].filter((n) => n > 0).map((n) => sizedChain(context, prefix, n, rules)),
  }))
}

type RulesOf = (context: RenderContext) => readonly NftRule[]

const markAll: RulesOf = () => [rule([jump(MARK_CHAIN)])]

const markForeign: RulesOf = (context) => {
  const { layout, node } = context
  if (node.masqueradeAll) return markAll(context)
  const foreign = isForeignTraffic(layout, node.localDetector)
  return foreign ? [rule([...foreign, jump(MARK_CHAIN)])] : []
}

const PREFIXES: Readonly<Record<FrontendKind, string>> = { address: 'external', nodeport: 'nodeport' }
