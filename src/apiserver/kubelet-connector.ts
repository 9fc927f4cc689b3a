import type { Duplex } from 'node:stream'
import type { Node } from '../api/generated/core-v1.ts'

/** How the API server reaches the kubelets; the cluster passes it. */
export interface KubeletConnector {
  /** A connection that speaks HTTP/1.1 to the kubelet of a node; rejects if it cannot be reached. */
  dial(node: Node, options: DialKubeletOptions): Promise<Duplex>
  /** There is no kubelet: the node exists in the API only. */
  isSimulated(node: Node): boolean
}

export interface DialKubeletOptions {
  /** Whoever answers is believed to be the kubelet. */
  readonly insecure?: boolean
  readonly signal?: AbortSignal
}

const DEFAULT_PORT = 10250
const ADDRESS_TYPES = ['InternalIP', 'ExternalIP', 'InternalDNS', 'ExternalDNS', 'Hostname']

/** Where a node says that its kubelet listens. */
export function kubeletAddress(node: Node): { host: string; port: number } | undefined {
  const { addresses = [], daemonEndpoints } = node.status ?? {}
  const port = daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_PORT
  for (const type of ADDRESS_TYPES) {
    const found = addresses.find((one) => one.type === type)
    if (found) return { host: found.address, port }
  }
  return undefined
}
