import { createHash } from 'node:crypto'
import { join } from 'node:path'

/** What users may choose of a kubelet, by the names of its own flags. */
export interface KubeletChoices {
  /** Pods that name no seccomp profile get that of the runtime: so unless false. */
  readonly seccompDefault?: boolean
  /** How many processes a pod may have; -1 for any number. */
  readonly podMaxPids?: number
}

/** What was chosen; of several, the first that chose it counts. */
export function kubeletChoices(...from: readonly KubeletChoices[]): KubeletChoices {
  const seccompDefault = from.find((one) => one.seccompDefault !== undefined)?.seccompDefault
  const podMaxPids = from.find((one) => one.podMaxPids !== undefined)?.podMaxPids
  return { ...(seccompDefault !== undefined && { seccompDefault }), ...(podMaxPids !== undefined && { podMaxPids }) }
}

/** What the process of a node needs to know; passes as JSON on its command line. Secrets are in files. */
export interface NodeSettings extends KubeletChoices {
  readonly name: string
  /** The node's own: credentials, the runtime's state, images, volumes, logs. */
  readonly dataDir: string
  /** The address of the node on the network between nodes. */
  readonly address: string
  /** The machine that the node shares with others of the cluster, as the node sees it: registries there are its own. */
  readonly machineAddress?: string
  readonly clusterCidrs: readonly string[]
  readonly serviceCidrs: readonly string[]
  /** The address of the Service kube-dns. */
  readonly clusterDns: string
  readonly clusterDomain: string
  /** Where DNS queries for the rest of the world go. */
  readonly upstreamDns: readonly string[]
  readonly proxyMode: string
  readonly network: string
  /** `builtin` (also without), `containerd` for one of the node's own, or the `unix://` socket of a CRI runtime. */
  readonly runtime?: string
  /** Root only in a user namespace of one user. */
  readonly rootless: boolean
  readonly labels?: Readonly<Record<string, string>>
  /** The node has no network of its own: it is the machine, and what it leaves is cleared from the machine's network. */
  readonly isMachine?: boolean
}

export const KUBELET_PORT = 10250

/** All cgroups of the node's pods are below this one. */
export const nodeCgroupRoot = (dataDir: string) =>
  `/sampan-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`

/** Where that is, if not at the root of all: written by the node, read by whoever clears up after it. */
export const cgroupParentPath = (dataDir: string) => join(dataDir, 'cgroup-parent')

/** Names the process that is the node now. */
export const nodeClaimPath = (dataDir: string) => join(dataDir, 'node.json')
/** How a node that is the machine itself was started last. */
export const nodeSettingsPath = (dataDir: string) => join(dataDir, 'settings.json')
export const nodeKubeconfigPath = (dataDir: string, user: NodeUser) => join(dataDir, 'pki', `${user}.kubeconfig`)
/** What the kubelet shows those who ask it: key and certificate in one file. */
export const servingCertificatePath = (dataDir: string) => join(dataDir, 'pki', 'kubelet-server.pem')
/** Also for `sampan image`, which works on it beside the node. */
export const imagesDir = (dataDir: string) => join(dataDir, 'images')
/** All of the node's own containerd. */
export const containerdDir = (dataDir: string) => join(dataDir, 'containerd')
export const clusterCaPath = (dataDir: string) => join(dataDir, 'pki', 'ca.pem')

/** A node acts as three users, each with the rights of its part alone. */
export type NodeUser = 'kubelet' | 'kube-proxy' | 'cluster-dns'
