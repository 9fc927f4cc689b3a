import type { ServicePortKey } from '../service-port.ts'
import type { PortSpec } from './service-spec.ts'

interface Claim {
  readonly key: ServicePortKey
  readonly isClusterIP: boolean
  readonly createdAt: string
}

/**
 * Who answers at an address, protocol and port. Two Services may ask for the same external address: one of them gets it,
 * and the same one on every node and after every restart. A cluster IP always goes before, so that nobody can take
 * another's by naming it as an external address.
 */
export class Frontends {
  readonly #claims = new Map<string, Claim[]>()

  /** The ports that gain or lose something by it, besides the claimant. */
  claim(spec: PortSpec, affected: Set<ServicePortKey>): void {
    for (const { frontend, isClusterIP } of frontendsOf(spec)) {
      const claims = this.#claims.get(frontend)
      const claim = { key: spec.key, isClusterIP, createdAt: spec.createdAt }
      if (!claims) {
        this.#claims.set(frontend, [claim])
        continue
      }
      const holder = claims[0]!
      claims.push(claim)
      claims.sort(byPrecedence)
      if (claims[0] !== holder) affected.add(holder.key)
    }
  }

  release(spec: PortSpec, affected: Set<ServicePortKey>): void {
    for (const { frontend } of frontendsOf(spec)) {
      const claims = this.#claims.get(frontend) ?? []
      const wasHolder = claims[0]?.key === spec.key
      const left = claims.filter(({ key }) => key !== spec.key)
      if (left.length === 0) this.#claims.delete(frontend)
      else this.#claims.set(frontend, left)
      if (wasHolder && left[0]) affected.add(left[0].key)
    }
  }

  /** The port with only those addresses that are its own. */
  owned(spec: PortSpec): PortSpec {
    const owns = (ip: string) => this.#claims.get(frontendOf(spec, ip, spec.port))?.[0]?.key === spec.key
    const ownsNodePort =
      spec.nodePort !== 0 && this.#claims.get(frontendOf(spec, 'node', spec.nodePort))?.[0]?.key === spec.key
    const ownsAll =
      owns(spec.clusterIP) &&
      spec.externalIPs.every(owns) &&
      spec.loadBalancerIPs.every(owns) &&
      (ownsNodePort || spec.nodePort === 0)
    if (ownsAll) return spec
    return {
      ...spec,
      clusterIP: owns(spec.clusterIP) ? spec.clusterIP : '',
      externalIPs: spec.externalIPs.filter(owns),
      loadBalancerIPs: spec.loadBalancerIPs.filter(owns),
      nodePort: ownsNodePort ? spec.nodePort : 0,
    }
  }
}

const byPrecedence = (a: Claim, b: Claim) =>
  Number(b.isClusterIP) - Number(a.isClusterIP) || compare(a.createdAt, b.createdAt) || compare(a.key, b.key)

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const frontendOf = ({ protocol, family }: PortSpec, ip: string, port: number) => `${ip} ${protocol} ${port} ${family}`

function* frontendsOf(spec: PortSpec): Generator<{ frontend: string; isClusterIP: boolean }> {
  yield { frontend: frontendOf(spec, spec.clusterIP, spec.port), isClusterIP: true }
  for (const ip of spec.externalIPs) yield { frontend: frontendOf(spec, ip, spec.port), isClusterIP: false }
  for (const ip of spec.loadBalancerIPs) yield { frontend: frontendOf(spec, ip, spec.port), isClusterIP: false }
  if (spec.nodePort !== 0) yield { frontend: frontendOf(spec, 'node', spec.nodePort), isClusterIP: false }
}
