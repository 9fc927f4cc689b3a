import { X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { connectionOf, loadKubeconfig } from '../../client/kubeconfig.ts'
import type { CertificateFact, KubeletConfigurationFacts, KubeletFacts, NodeFacts } from '../facts.ts'
import { askHttps, isPortOpen } from './https-status.ts'
import type { Credentials, Inspected } from './inspected.ts'
import { tlsOffer } from './tls-offer.ts'

const READ_ONLY_PORT = 10255
const PROXY_METRICS_PORT = 10249
const KUBELET_PORT = 10250
const NODES = { group: '', version: 'v1', plural: 'nodes', namespaced: false }

export async function nodeFacts(inspected: Inspected, pods: readonly Pod[]): Promise<NodeFacts[]> {
  if (!inspected.hasKubelets) return []
  const { items = [] } = await inspected.api.call({ verb: 'list', resource: NODES })
  return Promise.all((items as Node[]).map((node) => factsOf(node, inspected, pods)))
}

async function factsOf(node: Node, inspected: Inspected, pods: readonly Pod[]): Promise<NodeFacts> {
  const name = node.metadata.name!
  const folder = join(inspected.dataDir, 'nodes', name, 'pki')
  const [kubelet, configuration, clientCertificate, seccomp] = await Promise.all([
    kubeletFacts(node, inspected.credentials, await credentialsIn(join(folder, 'kube-proxy.kubeconfig'))),
    configurationOf(inspected, name),
    clientCertificateOf(join(folder, 'kubelet.kubeconfig')),
    seccompOf(pods.filter(({ spec }) => spec?.nodeName === name)),
  ])
  return { name, kubelet, configuration, clientCertificate, seccomp }
}

async function kubeletFacts(
  { status }: Node,
  administrator: Credentials,
  stranger: Credentials | undefined,
): Promise<KubeletFacts | undefined> {
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
  if (address === undefined) return undefined
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? KUBELET_PORT
  const url = `https://${address.includes(':') ? `[${address}]` : address}:${port}/pods`
  const [tls, anonymous] = await Promise.all([tlsOffer(address, port, administrator), askHttps(url)])
  if (!tls || !anonymous) return undefined
  const [known, strange, isReadOnlyPortOpen, isProxyMetricsPortOpen] = await Promise.all([
    askHttps(url, administrator),
    stranger && askHttps(url, stranger),
    isPortOpen(address, READ_ONLY_PORT),
    isPortOpen(address, PROXY_METRICS_PORT),
  ])
  return {
    address,
    anonymousStatus: anonymous.status,
    administratorStatus: known?.status ?? 0,
    strangerStatus: strange?.status,
    tls,
    isReadOnlyPortOpen,
    isProxyMetricsPortOpen,
  }
}

async function configurationOf({ api }: Inspected, node: string): Promise<KubeletConfigurationFacts> {
  try {
    const text = await api.raw({ path: `/api/v1/nodes/${node}/proxy/configz` })
    return (JSON.parse(text) as { kubeletconfig?: KubeletConfigurationFacts }).kubeletconfig ?? {}
  } catch {
    return {}
  }
}

/** Undefined if the file is not on this machine, or for others to read. */
async function credentialsIn(kubeconfig: string): Promise<Credentials | undefined> {
  try {
    return await connectionOf(await loadKubeconfig([kubeconfig]))
  } catch {
    return undefined
  }
}

async function clientCertificateOf(kubeconfig: string): Promise<CertificateFact | undefined> {
  const cert = (await credentialsIn(kubeconfig))?.cert
  if (cert === undefined) return undefined
  const { subject, issuer, validFrom, validTo } = new X509Certificate(cert)
  const nameIn = (text: string) => /^CN=(.*)$/m.exec(text)?.[1] ?? ''
  return {
    subject: nameIn(subject),
    issuer: nameIn(issuer),
    notBefore: Date.parse(validFrom),
    notAfter: Date.parse(validTo),
  }
}

/** Processes by the pod that their cgroup names: how many have a seccomp filter. */
async function seccompOf(pods: readonly Pod[]): Promise<NodeFacts['seccomp']> {
  const uids = pods.filter((pod) => !namesProfile(pod)).map(({ metadata }) => metadata.uid!)
  if (uids.length === 0) return undefined
  let [filtered, unfiltered] = [0, 0]
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
    if (!uids.some((uid) => cgroup.includes(uid))) continue
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    // 2 is a filter; 0 is none.
    if (/^Seccomp:\s*2$/m.test(status)) filtered++
    else if (/^Seccomp:\s*0$/m.test(status)) unfiltered++
  }
  return filtered + unfiltered > 0 ? { filtered, unfiltered } : undefined
}

const namesProfile = ({ spec }: Pod) =>
  spec?.securityContext?.seccompProfile !== undefined ||
  (spec?.containers ?? []).some(
    ({ securityContext }) => securityContext?.seccompProfile !== undefined || securityContext?.privileged,
  )
