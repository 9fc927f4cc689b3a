import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../../base/log.ts'

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
export function raiseConntrackLimits(
  limits: ConntrackLimits,
  cores: number,
  log: Logger,
  root = '/proc/sys/net/netfilter',
): void {
  const set = (name: string, value: number, onlyRaise: boolean) => {
    const file = join(root, name)
    try {
      const current = Number(readFileSync(file, 'utf8'))
      if (current === value || (onlyRaise && current >= value)) return
      writeFileSync(file, String(value))
    } catch (error) {
      log.warn('a limit of connection tracking cannot be set', { name, value, error })
    }
  }
  const max = limits.maxPerCore > 0 ? Math.max(limits.min, limits.maxPerCore * cores) : 0
  if (max > 0) set('nf_conntrack_max', max, true)
  if (limits.tcpEstablishedSeconds > 0) set('nf_conntrack_tcp_timeout_established', limits.tcpEstablishedSeconds, false)
  if (limits.tcpCloseWaitSeconds > 0) set('nf_conntrack_tcp_timeout_close_wait', limits.tcpCloseWaitSeconds, false)
}
