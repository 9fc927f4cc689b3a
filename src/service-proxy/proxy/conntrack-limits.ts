import type { Logger } from '../../base/log.ts'
import type { Sysctl } from '../../linux/sysctl.ts'

export interface ConntrackLimits {
  /** How many connections the kernel follows for each core; at least `min`. 0 leaves it as it is. */
  readonly maxPerCore: number
  readonly min: number
  readonly tcpEstablishedSeconds: number
  readonly tcpCloseWaitSeconds: number
}

/** What kube-proxy sets. */
export const DEFAULT_CONNTRACK_LIMITS: ConntrackLimits = {
  maxPerCore: 32_768,
  min: 131_072,
  tcpEstablishedSeconds: 86_400,
  tcpCloseWaitSeconds: 3600,
}

/** Room for the connections of a busy node. A limit that is higher already stays; a kernel that refuses is no failure. */
export function raiseConntrackLimits(limits: ConntrackLimits, cores: number, log: Logger, sysctl: Sysctl): void {
  const set = (setting: string, value: number, onlyRaise: boolean) => {
    const name = `net/netfilter/${setting}`
    try {
      const current = Number(sysctl.read(name))
      if (current === value || (onlyRaise && current >= value)) return
      sysctl.write(name, value)
    } catch (error) {
      // Most of them are the machine's, not those of a node that is a namespace on it.
      log.info('a limit of connection tracking cannot be set', { name, value, error })
    }
  }
  const max = limits.maxPerCore > 0 ? Math.max(limits.min, limits.maxPerCore * cores) : 0
  if (max > 0) set('nf_conntrack_max', max, true)
  if (limits.tcpEstablishedSeconds > 0) set('nf_conntrack_tcp_timeout_established', limits.tcpEstablishedSeconds, false)
  if (limits.tcpCloseWaitSeconds > 0) set('nf_conntrack_tcp_timeout_close_wait', limits.tcpCloseWaitSeconds, false)
}
