import { hostname, networkInterfaces } from 'node:os'
import { cidrContains, formatIP, parseCIDR, parseIP } from '../../base/ip-address.ts'

/** Everything clients may call the API server by: inside pods, on this machine, and on its network. */
export function apiServerNames(serviceCidrs: readonly string[], extra: readonly string[] = []): string[] {
  const domain = 'svc.cluster.local'
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', `kubernetes.default.${domain}`]
  return [...new Set([...names, 'localhost', hostname(), '127.0.0.1', '::1', ...serviceIps(serviceCidrs), ...extra])]
}

/** The Service `kubernetes` has the first address of each range. */
function serviceIps(cidrs: readonly string[]): string[] {
  return cidrs.flatMap((cidr) => {
    const range = parseCIDR(cidr)
    return range ? [formatIP({ family: range.family, value: range.first + 1n })] : []
  })
}

/** An address of this machine that other machines can reach, IPv4 first; loopback if there is no network at all. */
export function machineAddress(): string {
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter((address) => !address.internal && !isLinkLocal(address.address))
  const found = addresses.find((address) => address.family === 'IPv4') ?? addresses[0]
  return found?.address ?? '127.0.0.1'
}

const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'].map((cidr) => parseCIDR(cidr)!)

function isLinkLocal(address: string): boolean {
  const ip = parseIP(address)
  return ip === undefined || LINK_LOCAL.some((range) => range.family === ip.family && cidrContains(range, ip))
}
