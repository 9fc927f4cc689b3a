/** One port of a Service as chains of its own and rules in the chains that all share. Pure. */
import type { ProxyNode } from '../backend.ts'
import {
  type Endpoint,
  externalAddresses,
  externalTarget,
  internalTarget,
  isExternallyAccessible,
  type ServicePort,
  type TrafficTarget,
} from '../service-port.ts'
import { endpointChain, type PortChains, portChains, targetOf } from './chain-names.ts'
import { comment, contains, podMatches, rejectOf, toPort } from './rule-text.ts'
import { MARK_CHAIN, MARK_FOREIGN_CHAIN, type SharedChain, unknownPort } from './skeleton.ts'

export interface RenderedPort {
  /** In the table nat. */
  readonly chains: ReadonlyMap<string, readonly string[]>
  readonly shared: ReadonlyMap<SharedChain, readonly string[]>
}

export function renderPort(node: ProxyNode, port: ServicePort): RenderedPort {
  return new PortRenderer(node, port).render()
}

class PortRenderer {
  readonly #node: ProxyNode
  readonly #port: ServicePort
  readonly #names: PortChains
  readonly #chains = new Map<string, string[]>()
  readonly #shared = new Map<SharedChain, string[]>()

  constructor(node: ProxyNode, port: ServicePort) {
    this.#node = node
    this.#port = port
    this.#names = portChains(port)
  }

  render(): RenderedPort {
    this.#clusterIP()
    if (isExternallyAccessible(this.#port)) this.#external()
    this.#healthCheck()
    return { chains: this.#chains, shared: this.#shared }
  }

  #clusterIP(): void {
    const { clusterIP, name, protocol, port, internalPolicyLocal, clusterEndpoints, localEndpoints } = this.#port
    if (clusterIP === '') return
    this.#share('filter KUBE-CLUSTER-IPS', unknownPort(clusterIP, name))
    const match = toPort(protocol, port, clusterIP)
    const target = internalTarget(this.#port)
    if (target !== 'balance') {
      this.#share('filter KUBE-SERVICES', this.#unreachable(target, match))
      return
    }
    const chain = internalPolicyLocal ? this.#names.local : this.#names.cluster
    const words = comment(`${name} cluster IP`)
    this.#share('nat KUBE-SERVICES', `${words} ${match} -j ${chain}`)
    const mark = this.#markForeign(`${words} ${match}`)
    this.#balance(chain, internalPolicyLocal ? localEndpoints : clusterEndpoints, mark)
  }

  /** Marks packets that no pod sent: their answers must come back through this node. */
  #markForeign(match: string): string[] {
    const { masqueradeAll, localDetector } = this.#node
    if (masqueradeAll) return [`${match} -j ${MARK_CHAIN}`]
    const pods = podMatches(localDetector, this.#port.family)
    if (pods.length === 0) return []
    return [pods.length === 1 ? `${match} ! ${pods[0]} -j ${MARK_CHAIN}` : `${match} -j ${MARK_FOREIGN_CHAIN}`]
  }

  #external(): void {
    const { name, protocol, port, nodePort, externalIPs, hasEndpoints } = this.#port
    const target = externalTarget(this.#port)
    if (target !== 'balance') this.#unreachableOutside(target)
    this.#firewall()
    if (!hasEndpoints) return
    this.#externalChain()
    const chain = this.#names.external
    for (const ip of externalIPs) {
      this.#share('nat KUBE-SERVICES', `${comment(`${name} external IP`)} ${toPort(protocol, port, ip)} -j ${chain}`)
    }
    this.#loadBalancer()
    if (nodePort === 0) return
    this.#share('nat KUBE-NODEPORTS', `${comment(name)} ${toPort(protocol, nodePort)} -j ${chain}`)
  }

  #externalChain(): void {
    const { name, externalPolicyLocal, clusterEndpoints, localEndpoints } = this.#port
    const { cluster, local, external } = this.#names
    const rules: string[] = []
    if (clusterEndpoints.length > 0 && !this.#chains.has(cluster)) this.#balance(cluster, clusterEndpoints)
    if (!externalPolicyLocal) {
      rules.push(`${comment(`from outside to ${name}: answers return through this node`)} -j ${MARK_CHAIN}`)
      if (clusterEndpoints.length > 0) rules.push(`-j ${cluster}`)
    } else {
      if (clusterEndpoints.length > 0) rules.push(...this.#insideRules())
      if (localEndpoints.length > 0) {
        if (!this.#chains.has(local)) this.#balance(local, localEndpoints)
        rules.push(`-j ${local}`)
      }
    }
    this.#chains.set(external, rules)
  }

  /** Packets from pods and from the node may go to any endpoint: a Local policy is for those from outside. */
  #insideRules(): string[] {
    const { name, family } = this.#port
    const { cluster } = this.#names
    const fromNode = '-m addrtype --src-type LOCAL'
    const pods = podMatches(this.#node.localDetector, family)
    return [
      ...pods.map((match) => `${comment(`from pods to ${name}: all endpoints`)} ${match} -j ${cluster}`),
      `${comment(`from this node to ${name}: answers return through it`)} ${fromNode} -j ${MARK_CHAIN}`,
      `${comment(`from this node to ${name}: all endpoints`)} ${fromNode} -j ${cluster}`,
    ]
  }

  #loadBalancer(): void {
    const { name, protocol, port, loadBalancerIPs, sourceRanges } = this.#port
    const { firewall, external } = this.#names
    const chain = sourceRanges.length > 0 ? firewall : external
    const words = comment(`${name} load balancer IP`)
    for (const ip of loadBalancerIPs) {
      this.#share('nat KUBE-SERVICES', `${words} ${toPort(protocol, port, ip)} -j ${chain}`)
    }
    if (loadBalancerIPs.length === 0 || sourceRanges.length === 0) return
    this.#chains.set(firewall, [
      ...this.#allowedSources().map((source) => `${words} -s ${source} -j ${external}`),
      comment(`all others to ${name} end in KUBE-PROXY-FIREWALL`),
    ])
  }

  /** A node in a source range may also send from the load balancer's address, which can be on one of its links. */
  #allowedSources(): string[] {
    const { sourceRanges, loadBalancerIPs } = this.#port
    const isNodeAllowed = this.#node.nodeIPs.some((ip) => sourceRanges.some((range) => contains(range, ip)))
    return isNodeAllowed ? [...sourceRanges, ...loadBalancerIPs] : [...sourceRanges]
  }

  /** Drops packets that still have the load balancer's address: no rule in nat accepted them. */
  #firewall(): void {
    const { name, protocol, port, loadBalancerIPs, sourceRanges, hasEndpoints } = this.#port
    if (sourceRanges.length === 0) return
    for (const ip of loadBalancerIPs) {
      const match = toPort(protocol, port, ip)
      if (!hasEndpoints) {
        for (const source of this.#allowedSources()) {
          this.#share('filter KUBE-PROXY-FIREWALL', `${comment(name)} ${match} -s ${source} -j RETURN`)
        }
      }
      const words = comment(`${name}: source not in a range of ${this.#names.firewall}`)
      this.#share('filter KUBE-PROXY-FIREWALL', `${words} ${match} -j DROP`)
    }
  }

  #unreachableOutside(target: Exclude<TrafficTarget, 'balance'>): void {
    const { protocol, port, nodePort } = this.#port
    for (const ip of externalAddresses(this.#port)) {
      this.#share('filter KUBE-EXTERNAL-SERVICES', this.#unreachable(target, toPort(protocol, port, ip)))
    }
    if (nodePort === 0) return
    const match = `-m addrtype --dst-type LOCAL ${toPort(protocol, nodePort)}`
    this.#share('filter KUBE-EXTERNAL-SERVICES', this.#unreachable(target, match))
  }

  #unreachable(target: Exclude<TrafficTarget, 'balance'>, match: string): string {
    const { name, protocol } = this.#port
    return target === 'reject'
      ? `${comment(`${name} has no endpoints`)} ${match} -j ${rejectOf(protocol)}`
      : `${comment(`${name} has no local endpoints`)} ${match} -j DROP`
  }

  #healthCheck(): void {
    const { name, healthCheckNodePort } = this.#port
    if (healthCheckNodePort === 0) return
    const match = toPort('TCP', healthCheckNodePort)
    this.#share('filter KUBE-NODEPORTS', `${comment(`${name} health check node port`)} ${match} -j ACCEPT`)
  }

  /** Spreads connections evenly: of n endpoints the first takes 1/n, the next 1/(n-1) of the rest, the last what is left. */
  #balance(chain: string, endpoints: readonly Endpoint[], before: readonly string[] = []): void {
    const { name, affinitySeconds } = this.#port
    const sticky: string[] = []
    const chosen = endpoints.map((endpoint, i) => {
      const target = this.#endpoint(endpoint)
      const words = comment(`${name} -> ${targetOf(endpoint)}`)
      if (affinitySeconds !== undefined) {
        const recent = `-m recent --name ${target} --rcheck --seconds ${affinitySeconds} --reap`
        sticky.push(`${words} ${recent} -j ${target}`)
      }
      const left = endpoints.length - i
      const chance = left === 1 ? '' : `-m statistic --mode random --probability ${(1 / left).toFixed(10)} `
      return `${words} ${chance}-j ${target}`
    })
    this.#chains.set(chain, [...before, ...sticky, ...chosen])
  }

  #endpoint(endpoint: Endpoint): string {
    const { name, protocol, affinitySeconds } = this.#port
    const chain = endpointChain(this.#port, endpoint)
    if (this.#chains.has(chain)) return chain
    const words = comment(name)
    const proto = protocol.toLowerCase()
    const remember = affinitySeconds === undefined ? '' : `-m recent --name ${chain} --set `
    this.#chains.set(chain, [
      `${words} -s ${endpoint.ip} -j ${MARK_CHAIN}`,
      `${words} -m ${proto} -p ${proto} ${remember}-j DNAT --to-destination ${targetOf(endpoint)}`,
    ])
    return chain
  }

  #share(chain: SharedChain, rule: string): void {
    const rules = this.#shared.get(chain)
    if (rules) rules.push(rule)
    else this.#shared.set(chain, [rule])
  }
}
