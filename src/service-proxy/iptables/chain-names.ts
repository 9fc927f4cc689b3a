/** The names of chains, as kube-proxy makes them: people and tools know them. */
import { createHash } from 'node:crypto'
import type { Endpoint, ServicePort } from '../service-port.ts'

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const HASH_LENGTH = 16
const BITS = 5

export const PORT_CHAIN_PREFIXES = ['KUBE-SVC-', 'KUBE-SVL-', 'KUBE-EXT-', 'KUBE-FW-', 'KUBE-SEP-'] as const

/** Chains that belong to a port of a Service, and go with it. */
export const isPortChain = (name: string) => PORT_CHAIN_PREFIXES.some((prefix) => name.startsWith(prefix))

export interface PortChains {
  /** Any endpoint. */
  readonly cluster: string
  /** Endpoints of this node. */
  readonly local: string
  /** What comes from outside. */
  readonly external: string
  readonly firewall: string
}

export function portChains(port: Pick<ServicePort, 'name' | 'protocol'>): PortChains {
  const hash = hashOf(port.name + port.protocol.toLowerCase())
  return {
    cluster: `KUBE-SVC-${hash}`,
    local: `KUBE-SVL-${hash}`,
    external: `KUBE-EXT-${hash}`,
    firewall: `KUBE-FW-${hash}`,
  }
}

export const endpointChain = (port: Pick<ServicePort, 'name' | 'protocol'>, endpoint: Endpoint): string =>
  `KUBE-SEP-${hashOf(port.name + port.protocol.toLowerCase() + targetOf(endpoint))}`

/** `10.0.0.1:80`, `[fd00::1]:80` */
export const targetOf = ({ ip, port }: Pick<Endpoint, 'ip' | 'port'>) =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`

/** The first characters of the base32 of the SHA-256. */
function hashOf(text: string): string {
  const digest = createHash('sha256').update(text).digest()
  let name = ''
  for (let at = 0; at < HASH_LENGTH * BITS; at += BITS) {
    const word = digest.readUInt16BE(at >> 3)
    name += BASE32[(word >> (16 - BITS - (at & 7))) & 31]
  }
  return name
}
