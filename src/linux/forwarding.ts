import type { Linux } from './linux.ts'

/** Kinds of links that are made to lead packets on: virtual networks, tunnels, other machines in this one. */
const LEADS_ON = new Set(['bridge', 'vxlan', 'tun', 'wireguard', 'macvlan', 'ipvlan', 'ipip', 'gre', 'geneve'])

/**
 * Whether it looks as if packets pass through this machine, by its links and its address translation. Then forwarding must stay
 * on, whoever turned it on.
 */
export function isRouter(linux: Linux): boolean {
  using network = linux.openRtnetlink()
  if (network.links().some(({ kind }) => kind !== undefined && LEADS_ON.has(kind))) return true
  using nftables = linux.openNftables()
  try {
    return nftables.tables().some((table) => nftables.list(table)?.chains.some(({ base }) => base?.type === 'nat'))
  } catch {
    // Rules that we cannot read are of somebody.
    return true
  }
}
