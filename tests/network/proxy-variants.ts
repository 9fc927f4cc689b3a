import type { BackendFactory, ProxyMode } from '../../src/service-proxy/backend.ts'
import { BACKENDS } from '../../src/service-proxy/backends.ts'
import { createIptablesBackend } from '../../src/service-proxy/iptables/iptables-backend.ts'

/** Every mode, and both of the packet filters that iptables may write to. */
export type ProxyVariant = Exclude<ProxyMode, 'ipvs' | 'iptables'> | 'iptables-nft' | 'iptables-legacy'
export const VARIANTS: readonly ProxyVariant[] = ['nftables', 'iptables-nft', 'iptables-legacy', 'userspace']

export interface ModeOptions {
  readonly mode: ProxyMode
  readonly backends: Readonly<Partial<Record<ProxyMode, BackendFactory>>>
}

export function modeOf(variant: ProxyVariant): ModeOptions {
  if (variant === 'nftables' || variant === 'userspace') return { mode: variant, backends: BACKENDS }
  const filter = variant === 'iptables-nft' ? 'nft' : 'legacy'
  return {
    mode: 'iptables',
    backends: { ...BACKENDS, iptables: (options) => createIptablesBackend(options, { variant: filter }) },
  }
}
