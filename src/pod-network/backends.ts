/** Every way between nodes, by the name `--network` has for it. */
import type { Logger } from '../base/log.ts'
import type { Linux } from '../linux/linux.ts'
import { hostGatewayBackend } from './host-gateway/host-gateway-backend.ts'
import type { NetworkBackend } from './pod-network.ts'
import { vxlanBackend } from './vxlan/vxlan-backend.ts'

export interface BackendOptions {
  readonly linux: Linux
  readonly clusterCIDRs: readonly string[]
  readonly log: Logger
}

export const NETWORK_BACKENDS = {
  vxlan: vxlanBackend,
  'host-gw': hostGatewayBackend,
  none: noBackend,
} as const satisfies Record<string, (options: BackendOptions) => NetworkBackend>

export type NetworkBackendName = keyof typeof NETWORK_BACKENDS

/** One node alone, or something else connects them: a CNI plugin, a cloud's routes. */
function noBackend(): NetworkBackend {
  return {
    name: 'none',
    overhead: () => 0,
    start: () => ({}),
    setPeers: () => {},
    setPeer: () => {},
    stop: () => {},
    [Symbol.dispose]: () => {},
  }
}
