/** What a plugin answers to ADD, in any of the versions that are supported: they differ in little. */
import { isAtLeast } from './versions.ts'

export interface CniResult {
  readonly cniVersion?: string
  readonly interfaces?: readonly CniInterface[]
  readonly ips?: readonly CniAddress[]
  readonly routes?: readonly unknown[]
  readonly dns?: unknown
}

export interface CniInterface {
  readonly name: string
  readonly mac?: string
  /** The path of the namespace it is in; none is the node. */
  readonly sandbox?: string
}

export interface CniAddress {
  /** With prefix length. */
  readonly address: string
  readonly gateway?: string
  /** The place in `interfaces`. */
  readonly interface?: number
  /** Until 0.4.0: `4` or `6`. */
  readonly version?: string
}

/** The same in the version that the rest of the chain speaks. */
export function inVersion(result: CniResult, version: string): CniResult {
  const ips = result.ips?.map(({ version: _, ...address }) =>
    isAtLeast(version, '1.0.0') ? address : { version: address.address.includes(':') ? '6' : '4', ...address },
  )
  return { ...result, cniVersion: version, ...(ips && { ips }) }
}

/** The addresses of one link of the pod; an address that names no link is the pod's as well. */
export function podAddresses(result: CniResult, link: string): string[] {
  const isOfPod = ({ interface: index }: CniAddress) => {
    const holder = index === undefined ? undefined : result.interfaces?.[index]
    return holder === undefined || (holder.name === link && Boolean(holder.sandbox))
  }
  return (result.ips ?? []).filter(isOfPod).map(({ address }) => address.slice(0, address.indexOf('/')))
}
