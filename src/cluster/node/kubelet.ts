import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import { CLUSTER_DNS_LABEL } from '../../controllers/cluster-dns-service.ts'
import { kernelMounter } from '../../kubelet/kernel-mounter.ts'
import { type EvictionThresholds, startKubelet } from '../../kubelet/kubelet.ts'
import { valueFor } from '../configuration.ts'
import type { Part } from '../part.ts'
import { clusterCaPath, KUBELET_PORT, kubeletDir, type NodeSettings, servingCertificatePath } from './node-settings.ts'
import type { ThisNode } from './this-node.ts'
import { resolvConfWith } from './upstream-dns.ts'

const MEBIBYTE = 1024 * 1024
/** A developer's disk may be nearly full: evict only when pods can hardly write any more. */
const EVICTION_THRESHOLDS: EvictionThresholds = {
  memoryAvailableBytes: 100 * MEBIBYTE,
  diskAvailableFraction: 0,
  diskAvailableBytes: 500 * MEBIBYTE,
  inodesFreeFraction: 0.01,
}

export const kubelet: Part<ThisNode> = {
  name: 'kubelet',
  async start(node) {
    const { settings, apiClients, clock, random, log } = node
    const { name, dataDir, address, clusterDns, clusterDomain } = settings
    node.kubelet = await startKubelet({
      clock,
      random,
      log,
      transport: apiClients.kubelet,
      nodeName: name,
      runtime: node.containerRuntime,
      rootDir: kubeletDir(dataDir),
      nodeAddresses: [address],
      clusterDns: [clusterDns],
      clusterDomain,
      resolvConf: await writeResolvConf(settings),
      labels: { [CLUSTER_DNS_LABEL]: 'true' },
      mounter: kernelMounter(node.systemCallAgents),
      evictionThresholds: EVICTION_THRESHOLDS,
      podPidsLimit: valueFor(settings, 'podMaxPids'),
      seccompDefault: valueFor(settings, 'seccompDefault'),
      listen: { host: address, port: KUBELET_PORT },
      tls: await servingCertificate(dataDir),
    })
  },
  /** The kubelet reports its pods as not ready and stops first: it would restart what ends behind its back. */
  async remove(node) {
    await node.kubelet.withdrawPods()
    await node.kubelet[Symbol.asyncDispose]()
  },
  stop: (node) => node.kubelet[Symbol.asyncDispose](),
}

/** For pods with the DNS policy `Default`. */
async function writeResolvConf({ dataDir, upstreamDns }: NodeSettings): Promise<string> {
  const file = join(dataDir, 'resolv.conf')
  await writeFileAtomically(file, resolvConfWith(upstreamDns))
  return file
}

async function servingCertificate(dataDir: string) {
  const pair = await readFile(servingCertificatePath(dataDir), 'utf8')
  const keyStart = pair.indexOf('-----BEGIN PRIVATE KEY')
  const clientCa = await readFile(clusterCaPath(dataDir), 'utf8')
  return { cert: pair.slice(0, keyStart), key: pair.slice(keyStart), clientCa }
}
