import { join } from 'node:path'
import { parseQuantity, value } from '../../api/meta/quantity.ts'
import type { SandboxNetwork } from '../../container-runtime/sandbox-network.ts'
import { CLUSTER_DNS_PORT } from '../../controllers/cluster-dns-service.ts'
import { parseSources } from '../../pod-network/forwarding-sources.ts'
import { type NodeNetworkOptions, startNodeNetwork } from '../../pod-network/node-network.ts'
import type { Bandwidth, PodNetwork } from '../../pod-network/pod-network.ts'
import type { Part } from '../part.ts'
import type { NodeSettings } from './node-settings.ts'
import type { ThisNode } from './this-node.ts'

export const podNetwork: Part<ThisNode> = {
  name: 'pod network',
  async start(node) {
    const { settings, apiClients, clock, random, log, linux } = node
    node.podNetwork = await startNodeNetwork({
      clock,
      random,
      log,
      transport: apiClients.kubelet,
      nodesTransport: apiClients['kube-proxy'],
      nodeName: settings.name,
      linux,
      backend: settings.network,
      clusterCidr: settings.clusterCidrs.join(','),
      stateDir: join(settings.dataDir, 'network'),
      ...(settings.isMachine && { guard: guardOf(settings) }),
    })
  },
  remove: (node) => node.podNetwork.cleanup(),
  stop: (node) => node.podNetwork[Symbol.asyncDispose](),
}

/** Keeps neighbours of the machine out. Only nodes ask each other's DNS servers; pods ask the Service. */
function guardOf(settings: NodeSettings): NonNullable<NodeNetworkOptions['guard']> {
  const { serviceCidrs, allowForwardingFrom = [], containerRuntimeEndpoint, address } = settings
  return {
    serviceCIDRs: serviceCidrs,
    allowed: parseSources(allowForwardingFrom),
    ports: [
      { protocol: 'UDP', port: CLUSTER_DNS_PORT },
      { protocol: 'TCP', port: CLUSTER_DNS_PORT },
    ],
    ...(containerRuntimeEndpoint !== undefined && { onlyTowards: address }),
  }
}

/** The pod network as the container runtime asks for it. */
export function sandboxNetwork(network: PodNetwork): SandboxNetwork {
  return {
    async attach({ sandboxId, metadata, portMappings, annotations, netnsPath: made }) {
      const hostPorts = portMappings
        .filter(({ hostPort }) => hostPort > 0)
        .map(({ protocol, hostPort, containerPort, hostIp }) => ({
          protocol,
          hostPort,
          containerPort,
          ...(hostIp !== undefined && { hostIP: hostIp }),
        }))
      const { namespace, name, uid } = metadata
      const bandwidth = bandwidthOf(annotations)
      const { netnsPath, addresses } = await network.attach({
        namespace,
        name,
        uid,
        sandboxId,
        hostPorts,
        bandwidth,
        ...(made !== undefined && { netnsPath: made }),
      })
      return { netnsPath, ips: addresses }
    },
    detach: (sandboxId) => network.detach(sandboxId),
  }
}

/** Bits per second, as quantities; an annotation that is not a quantity is ignored. */
function bandwidthOf(annotations: Readonly<Record<string, string>>): Bandwidth {
  const rate = (direction: 'ingress' | 'egress') => {
    const quantity = parseQuantity(annotations[`kubernetes.io/${direction}-bandwidth`] ?? '')
    return quantity ? { [direction]: value(quantity) } : {}
  }
  return { ...rate('ingress'), ...rate('egress') }
}
