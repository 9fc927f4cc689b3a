import { isSysctlName, type Sysctl } from '../sysctl.ts'
import { LinuxError } from '../system-error.ts'
import { EINVAL, ENOENT } from './errors.ts'
import type { FakeNetworkState } from './fake-network-state.ts'

/** Settings a namespace begins with. Those of a link follow `default`. */
const GLOBAL: Readonly<Record<string, string>> = {
  'net/ipv4/ip_forward': '0',
  'net/ipv4/ip_local_port_range': '32768\t60999',
  'net/ipv4/ip_unprivileged_port_start': '1024',
  'net/netfilter/nf_conntrack_max': '262144',
  'net/netfilter/nf_conntrack_tcp_be_liberal': '0',
  'net/netfilter/nf_conntrack_tcp_timeout_close_wait': '60',
  'net/netfilter/nf_conntrack_tcp_timeout_established': '432000',
}
const PER_LINK: Readonly<Record<string, string>> = {
  'ipv4/accept_redirects': '1',
  'ipv4/arp_announce': '0',
  'ipv4/arp_ignore': '0',
  'ipv4/forwarding': '0',
  'ipv4/route_localnet': '0',
  'ipv4/rp_filter': '0',
  'ipv4/send_redirects': '1',
  'ipv6/accept_dad': '1',
  'ipv6/accept_ra': '1',
  'ipv6/accept_redirects': '1',
  'ipv6/disable_ipv6': '0',
  'ipv6/forwarding': '0',
}

export class FakeSysctlState {
  readonly values = new Map<string, string>()
}

export function openFakeSysctl(state: FakeSysctlState, network: FakeNetworkState): Sysctl {
  const initial = (name: string) => {
    if (!isSysctlName(name)) throw new LinuxError(EINVAL, `sysctl ${name}`)
    if (name in GLOBAL) return GLOBAL[name]
    const [, family, conf, link = '', setting] = name.split('/')
    const isThere = link === 'all' || link === 'default' || network.linkNamed(link) !== undefined
    if (conf !== 'conf' || !isThere) return undefined
    return state.values.get(`net/${family}/conf/default/${setting}`) ?? PER_LINK[`${family}/${setting}`]
  }
  return {
    read(name) {
      const first = initial(name)
      return first === undefined ? undefined : (state.values.get(name) ?? first)
    },
    write(name, value) {
      if (initial(name) === undefined) throw new LinuxError(ENOENT, `sysctl ${name}`)
      state.values.set(name, String(value))
    },
  }
}
