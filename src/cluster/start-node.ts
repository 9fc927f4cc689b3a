/** One node in this process: pod network, container runtime, kubelet, service proxy and DNS, each with its own identity. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseQuantity, value } from '../api/meta/quantity.ts'
import { aborted } from '../base/abort.ts'
import { writeFileAtomically } from '../base/atomic-file.ts'
import { systemClock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { createHttpTransport, type HttpTransport } from '../client/http-transport.ts'
import { connectionOf, loadKubeconfig } from '../client/kubeconfig.ts'
import { startClusterDns } from '../cluster-dns/cluster-dns.ts'
import type { ContainerRuntime } from '../container-runtime/runtime.ts'
import type { SandboxNetwork } from '../container-runtime/sandbox-network.ts'
import { CLUSTER_DNS_LABEL, CLUSTER_DNS_PORT } from '../controllers/cluster-dns-service.ts'
import { kernelMounter } from '../kubelet/kernel-mounter.ts'
import { type EvictionThresholds, startKubelet } from '../kubelet/kubelet.ts'
import { kernelLinux } from '../linux/kernel-linux.ts'
import { startSyscallAgents } from '../linux/syscall-agent.ts'
import type { NetworkBackendName } from '../pod-network/backends.ts'
import { startNodeNetwork } from '../pod-network/node-network.ts'
import type { Bandwidth, PodNetwork } from '../pod-network/pod-network.ts'
import type { ProxyMode } from '../service-proxy/backend.ts'
import { startServiceProxy } from '../service-proxy/service-proxy.ts'
import { AsyncDisposables } from './async-disposables.ts'
import {
  clusterCaPath,
  KUBELET_PORT,
  type NodeSettings,
  type NodeUser,
  nodeKubeconfigPath,
  servingCertificatePath,
} from './node-settings.ts'
import { startRuntime } from './start-runtime.ts'
import { resolvConfWith } from './upstream-dns.ts'

const MEBIBYTE = 1024 * 1024
/** A developer's disk may be nearly full and well: what counts is that pods can still write. */
const EVICTION_THRESHOLDS: EvictionThresholds = {
  memoryAvailableBytes: 100 * MEBIBYTE,
  diskAvailableFraction: 0,
  diskAvailableBytes: 500 * MEBIBYTE,
  inodesFreeFraction: 0.01,
}

/** Where kube-proxy tells its mode and metrics. */
const PROXY_METRICS_PORT = 10_249

/** A fork bomb ends here, long before the machine does. */
const POD_MAX_PIDS = 4096

/** Disposing lets go of everything and leaves it running: the next process adopts it. */
export interface RunningNode extends AsyncDisposable {
  /** Ends all pods and takes away what the node put into the kernel. */
  remove(): Promise<void>
}

/** The start may wait for an API server for long; when `stop` aborts, what has started by then is the node. */
export async function startNode(settings: NodeSettings, log: Logger, stop: AbortSignal): Promise<RunningNode> {
  const stack = new AsyncDisposables()
  const removals: (() => Promise<void>)[] = []
  try {
    await Promise.race([startParts(settings, log, stack, removals), aborted(stop)])
  } catch (error) {
    await stack.dispose()
    throw error
  }
  return {
    async remove() {
      for (const removal of removals.reverse()) await removal()
    },
    [Symbol.asyncDispose]: () => stack.dispose(),
  }
}

async function startParts(
  settings: NodeSettings,
  log: Logger,
  stack: AsyncDisposables,
  removals: (() => Promise<void>)[],
): Promise<void> {
  const { name, dataDir, address, clusterDns, clusterDomain } = settings
  const common = { clock: systemClock, random: systemRandom, log }
  const linux = kernelLinux()
  const transport = async (user: NodeUser) => stack.use(await transportOf(dataDir, user))
  const asKubelet = await transport('kubelet')
  const asProxy = await transport('kube-proxy')

  const network = stack.use(
    await startNodeNetwork({
      ...common,
      transport: asKubelet,
      nodesTransport: asProxy,
      nodeName: name,
      linux,
      backend: settings.network as NetworkBackendName,
      clusterCidr: settings.clusterCidrs.join(','),
      stateDir: join(dataDir, 'network'),
    }),
  )
  removals.push(() => network.cleanup())

  const agents = stack.use(await startSyscallAgents(join(dataDir, 'agents')))
  const runtime = await startRuntime(settings, {
    ...common,
    network: sandboxNetwork(network.podNetwork),
    agents,
    stack,
    removals,
  })

  const mounter = kernelMounter(agents)
  const rootDir = join(dataDir, 'kubelet')
  removals.push(async () => {
    await removeSandboxes(runtime)
    for (const path of await mounter.mountsUnder(rootDir)) await mounter.unmount(path)
  })
  const kubelet = stack.use(
    await startKubelet({
      ...common,
      transport: asKubelet,
      nodeName: name,
      runtime,
      rootDir,
      nodeAddresses: [address],
      clusterDns: [clusterDns],
      clusterDomain,
      resolvConf: await writeResolvConf(settings),
      labels: { ...settings.labels, [CLUSTER_DNS_LABEL]: 'true' },
      mounter,
      evictionThresholds: EVICTION_THRESHOLDS,
      podPidsLimit: settings.podMaxPids ?? POD_MAX_PIDS,
      seccompDefault: settings.seccompDefault ?? true,
      listen: { host: address, port: KUBELET_PORT },
      tls: await kubeletCertificate(dataDir),
    }),
  )
  // First of all the kubelet says goodbye and stops: it would start anew what is ended behind its back.
  removals.push(async () => {
    await kubelet.withdrawPods()
    await kubelet[Symbol.asyncDispose]()
  })

  const proxy = stack.use(
    await startServiceProxy({
      ...common,
      transport: asProxy,
      nodeName: name,
      mode: settings.proxyMode as ProxyMode,
      linux,
      localDetector: { by: 'cidr', cidrs: settings.clusterCidrs },
      nodeIPs: [address],
      serviceCIDRs: settings.serviceCidrs,
      metricsPort: PROXY_METRICS_PORT,
      raiseConntrackLimits: true,
    }),
  )
  removals.push(() => proxy.cleanup())

  stack.use(
    await startClusterDns({
      ...common,
      transport: await transport('cluster-dns'),
      listen: [{ host: address, port: CLUSTER_DNS_PORT }],
      upstreams: settings.upstreamDns,
      zone: clusterDomain,
      serviceAddress: clusterDns,
    }),
  )
}

/** What pods that ask for names as their node does are given. */
async function writeResolvConf({ dataDir, upstreamDns }: NodeSettings): Promise<string> {
  const file = join(dataDir, 'resolv.conf')
  await writeFileAtomically(file, resolvConfWith(upstreamDns))
  return file
}

async function kubeletCertificate(dataDir: string) {
  const pair = await readFile(servingCertificatePath(dataDir), 'utf8')
  const keyStart = pair.indexOf('-----BEGIN PRIVATE KEY')
  const clientCa = await readFile(clusterCaPath(dataDir), 'utf8')
  return { cert: pair.slice(0, keyStart), key: pair.slice(keyStart), clientCa }
}

async function transportOf(dataDir: string, user: NodeUser): Promise<HttpTransport> {
  const connection = await connectionOf(await loadKubeconfig([nodeKubeconfigPath(dataDir, user)]))
  return createHttpTransport({ ...connection, clock: systemClock, userAgent: `sampan-${user}` })
}

/** The runtime's words for the pod network. */
function sandboxNetwork(network: PodNetwork): SandboxNetwork {
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

/** Bits per second, as quantities; what is none is left out. */
function bandwidthOf(annotations: Readonly<Record<string, string>>): Bandwidth {
  const rate = (direction: 'ingress' | 'egress') => {
    const quantity = parseQuantity(annotations[`kubernetes.io/${direction}-bandwidth`] ?? '')
    return quantity ? { [direction]: value(quantity) } : {}
  }
  return { ...rate('ingress'), ...rate('egress') }
}

async function removeSandboxes(runtime: ContainerRuntime): Promise<void> {
  const sandboxes = await runtime.listPodSandbox()
  await Promise.all(sandboxes.map(({ id }) => runtime.removePodSandbox(id)))
}
