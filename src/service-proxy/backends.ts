import type { BackendFactory, ProxyMode } from './backend.ts'
import { createIptablesBackend } from './iptables/iptables-backend.ts'
import { createNftablesBackend } from './nftables/nftables-backend.ts'
import { createUserspaceBackend } from './userspace/userspace-backend.ts'

/** All modes there are. A mode that is not chosen is asked to clean up when another one starts. */
export const BACKENDS: Readonly<Partial<Record<ProxyMode, BackendFactory>>> = {
  nftables: createNftablesBackend,
  iptables: (options) => createIptablesBackend(options),
  userspace: (options) => createUserspaceBackend(options),
}
