import type { Pod } from '../../api/generated/core-v1.ts'
import type { Rejection } from './admission.ts'

/** Kernel parameters that a pod has for itself and that harm nobody else; all others an administrator must allow. */
const SAFE = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
])

/** Names may be written with slashes, as the kernel's files are. */
const dotted = (name: string) =>
  /^[^.]*\//.test(name) ? name.replace(/[./]/g, (sign) => (sign === '/' ? '.' : '/')) : name

export function checkSysctls({ spec }: Pod): Rejection | undefined {
  for (const { name: written } of spec?.securityContext?.sysctls ?? []) {
    const name = dotted(written)
    const problem = problemOf(name, spec)
    if (problem) return { reason: 'SysctlForbidden', message: `forbidden sysctl: "${name}" ${problem}` }
  }
  return undefined
}

function problemOf(name: string, spec: Pod['spec']): string | undefined {
  if (!SAFE.has(name)) return 'not allowlisted'
  if (spec?.hostNetwork && name.startsWith('net.')) return 'not allowed with host net enabled'
  return spec?.hostIPC && name.startsWith('kernel.') ? 'not allowed with host ipc enabled' : undefined
}
