import { AddressPool } from './address-pool.ts'

/** The addresses of a node's pods: of each of its CIDRs, a pod has one. */
export class PodAddresses {
  readonly pools: readonly AddressPool[]

  constructor(podCIDRs: readonly string[]) {
    this.pools = podCIDRs.map((cidr) => new AddressPool(cidr))
  }

  /** All or nothing. */
  allocate(): string[] {
    const taken: string[] = []
    for (const pool of this.pools) {
      const address = pool.allocate()
      if (address === undefined) {
        this.release(taken)
        throw new Error(`no address is free in ${cidrText(pool)}: ${pool.used} pods have one`)
      }
      taken.push(address)
    }
    return taken
  }

  /** Those of a pod that has them already; what is of no pool was given before the node's CIDR changed. */
  take(addresses: readonly string[]): void {
    for (const address of addresses) this.pools.some((pool) => pool.take(address))
  }

  release(addresses: readonly string[]): void {
    for (const address of addresses) for (const pool of this.pools) pool.release(address)
  }
}

const cidrText = ({ cidr, gateway }: AddressPool) => `the range of ${gateway}/${cidr.prefixLength}`
