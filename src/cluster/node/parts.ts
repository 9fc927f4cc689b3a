/** What a node consists of, in the order of its start. */
import { join } from 'node:path'
import { createHttpTransport, type HttpTransport } from '../../client/http-transport.ts'
import { connectionOf, loadKubeconfig } from '../../client/kubeconfig.ts'
import { startClusterDns } from '../../cluster-dns/cluster-dns.ts'
import { CLUSTER_DNS_PORT } from '../../controllers/cluster-dns-service.ts'
import { startSyscallAgents } from '../../linux/syscall-agent.ts'
import { startServiceProxy } from '../../service-proxy/service-proxy.ts'
import type { Part } from '../part.ts'
import { containerRuntime } from './container-runtime.ts'
import { kubelet } from './kubelet.ts'
import { type NodeUser, nodeKubeconfigPath } from './node-settings.ts'
import { podNetwork } from './pod-network.ts'
import type { ThisNode } from './this-node.ts'

/** Where kube-proxy serves its mode and metrics. */
const PROXY_METRICS_PORT = 10_249

/** One per user, each with the rights of its part alone. */
const apiClients: Part<ThisNode> = {
  name: 'API clients',
  async start(node) {
    const [asKubelet, asProxy, asDns] = await Promise.all([
      connect(node, 'kubelet'),
      connect(node, 'kube-proxy'),
      connect(node, 'cluster-dns'),
    ])
    node.apiClients = { kubelet: asKubelet, 'kube-proxy': asProxy, 'cluster-dns': asDns }
  },
  async stop({ apiClients }) {
    for (const client of Object.values(apiClients)) await client[Symbol.asyncDispose]()
  },
}

async function connect({ settings, clock }: ThisNode, user: NodeUser): Promise<HttpTransport> {
  const connection = await connectionAs(settings.dataDir, user)
  return createHttpTransport({ ...connection, clock, userAgent: `sampan-${user}` })
}

const connectionAs = async (dataDir: string, user: NodeUser) =>
  connectionOf(await loadKubeconfig([nodeKubeconfigPath(dataDir, user)]))

/** The API server as this node reaches it, without the brackets of an IPv6 address. */
async function apiServerHost(dataDir: string): Promise<string> {
  const { server } = await connectionAs(dataDir, 'kube-proxy')
  return new URL(server).hostname.replace(/^\[(.*)\]$/, '$1')
}

const systemCallAgents: Part<ThisNode> = {
  name: 'system call agents',
  async start(node) {
    node.systemCallAgents = await startSyscallAgents(join(node.settings.dataDir, 'agents'))
  },
  stop: (node) => node.systemCallAgents[Symbol.asyncDispose](),
}

const serviceProxy: Part<ThisNode> = {
  name: 'service proxy',
  async start(node) {
    const { settings, apiClients, clock, random, log, linux } = node
    node.serviceProxy = await startServiceProxy({
      clock,
      random,
      log,
      transport: apiClients['kube-proxy'],
      nodeName: settings.name,
      mode: settings.proxyMode,
      linux,
      localDetector: { by: 'cidr', cidrs: settings.clusterCidrs },
      nodeIPs: [settings.address],
      serviceCIDRs: settings.serviceCidrs,
      apiServers: [await apiServerHost(settings.dataDir)],
      metricsPort: PROXY_METRICS_PORT,
      raiseConntrackLimits: true,
    })
  },
  remove: (node) => node.serviceProxy.cleanup(),
  stop: (node) => node.serviceProxy[Symbol.asyncDispose](),
}

const clusterDns: Part<ThisNode> = {
  name: 'cluster DNS',
  async start(node) {
    const { settings, apiClients, clock, random, log } = node
    node.clusterDns = await startClusterDns({
      clock,
      random,
      log,
      transport: apiClients['cluster-dns'],
      listen: [{ host: settings.address, port: CLUSTER_DNS_PORT }],
      upstreams: settings.upstreamDns,
      zone: settings.clusterDomain,
      serviceAddress: settings.clusterDns,
    })
  },
  stop: (node) => node.clusterDns[Symbol.asyncDispose](),
}

export const NODE_PARTS: readonly Part<ThisNode>[] = [
  apiClients,
  podNetwork,
  systemCallAgents,
  containerRuntime,
  kubelet,
  serviceProxy,
  clusterDns,
]
