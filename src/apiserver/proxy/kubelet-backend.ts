import type { Node } from '../../api/generated/core-v1.ts'
import { serviceUnavailable } from '../../api/meta/api-error.ts'
import { kubeletAddress } from '../kubelet-connector.ts'
import type { Backend } from './backend.ts'
import type { ProxyContext } from './proxy-context.ts'

/** The kubelet of a node; undefined where there is none because the node is simulated. */
export function kubeletBackend({ kubelets }: ProxyContext, node: Node, insecure = false): Backend | undefined {
  if (!kubelets) throw serviceUnavailable('this API server was not told how to reach nodes')
  if (kubelets.isSimulated(node)) return undefined
  const address = kubeletAddress(node)
  if (!address) throw serviceUnavailable(`node ${node.metadata.name} has no address`)
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return {
    origin: `https://${host}:${address.port}`,
    dial: (signal) => kubelets.dial(node, { insecure, signal }),
  }
}
