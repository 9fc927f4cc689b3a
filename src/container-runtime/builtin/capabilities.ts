import type { SecurityContext } from '../container-config.ts'

/** In the kernel's order: the place is the number. */
export const CAPABILITIES = [
  ...['CHOWN', 'DAC_OVERRIDE', 'DAC_READ_SEARCH', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID', 'SETPCAP'],
  ...['LINUX_IMMUTABLE', 'NET_BIND_SERVICE', 'NET_BROADCAST', 'NET_ADMIN', 'NET_RAW', 'IPC_LOCK', 'IPC_OWNER'],
  ...['SYS_MODULE', 'SYS_RAWIO', 'SYS_CHROOT', 'SYS_PTRACE', 'SYS_PACCT', 'SYS_ADMIN', 'SYS_BOOT', 'SYS_NICE'],
  ...['SYS_RESOURCE', 'SYS_TIME', 'SYS_TTY_CONFIG', 'MKNOD', 'LEASE', 'AUDIT_WRITE', 'AUDIT_CONTROL', 'SETFCAP'],
  ...['MAC_OVERRIDE', 'MAC_ADMIN', 'SYSLOG', 'WAKE_ALARM', 'BLOCK_SUSPEND', 'AUDIT_READ', 'PERFMON', 'BPF'],
  'CHECKPOINT_RESTORE',
] as const

/** What a container has when nobody says otherwise. */
export const DEFAULT_CAPABILITIES = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FSETID', 'FOWNER', 'MKNOD', 'NET_RAW', 'SETGID', 'SETUID', 'SETFCAP', 'SETPCAP'],
  ...['NET_BIND_SERVICE', 'SYS_CHROOT', 'KILL', 'AUDIT_WRITE'],
]

/** `drop: ALL` first, then what is added, as containerd does; names the kernel does not know are ignored. */
export function capabilitiesOf(security: SecurityContext): string[] {
  if (security.privileged) return [...CAPABILITIES]
  const add = security.addCapabilities.map(plainName)
  const drop = security.dropCapabilities.map(plainName)
  const base = drop.includes('ALL') ? [] : add.includes('ALL') ? [...CAPABILITIES] : DEFAULT_CAPABILITIES
  const added = add.includes('ALL') ? [...CAPABILITIES] : add
  const all = new Set([...base, ...added].filter((name) => drop.includes('ALL') || !drop.includes(name)))
  return CAPABILITIES.filter((name) => all.has(name))
}

const plainName = (name: string) => name.toUpperCase().replace(/^CAP_/, '')

export function capabilityMask(names: readonly string[]): bigint {
  let mask = 0n
  for (const name of names) {
    const number = (CAPABILITIES as readonly string[]).indexOf(name)
    if (number >= 0) mask |= 1n << BigInt(number)
  }
  return mask
}
