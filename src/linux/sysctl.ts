/** Settings of the kernel's network, as `sysctl` names them, with slashes: `net/ipv4/ip_forward`. */
export interface Sysctl {
  /** Undefined if the kernel (or the namespace) has no such setting. */
  read(name: string): string | undefined
  /** Refused with ENOENT if there is no such setting. */
  write(name: string, value: string | number): void
}

/** Names that stay below /proc/sys/net: a link may be called anything but has no slash. */
export const isSysctlName = (name: string) => name.startsWith('net/') && !name.split('/').includes('..')
