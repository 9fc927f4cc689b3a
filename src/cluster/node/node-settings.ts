import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { NodeConfiguration } from '../configuration.ts'
import type { AgreedConfiguration } from './agreed-configuration.ts'

/** What the process of a node needs to know; passes as JSON on its command line. Secrets are in files. */
export interface NodeSettings extends Omit<NodeConfiguration, keyof AgreedConfiguration>, AgreedConfiguration {
  readonly name: string
  /** The node's own: credentials, the runtime's state, images, volumes, logs. */
  readonly dataDir: string
  /** The address of the node on the network between nodes. */
  readonly address: string
  /** The machine that the node shares with others, as the node sees it: a registry on its loopback is reached there. */
  readonly machineAddress?: string
  /** Upstream resolvers. */
  readonly upstreamDns: readonly string[]
  /** Root only in a user namespace of one user. */
  readonly rootless: boolean
  /** The node has no network of its own: what it leaves is cleared from the machine's network. */
  readonly isMachine?: boolean
}

export const KUBELET_PORT = 10250

/** All cgroups of the node's pods are below this one. */
export const nodeCgroupRoot = (dataDir: string) =>
  `/sampan-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`

/** The parent of that cgroup, if it is not the root: written by the node, read to clear up after it. */
export const cgroupParentPath = (dataDir: string) => join(dataDir, 'cgroup-parent')

/** Names the process that is the node now. */
export const nodeClaimPath = (dataDir: string) => join(dataDir, 'node.json')
/** The state of the node's parts, for `sampan status`. */
export const nodePartsPath = (dataDir: string) => join(dataDir, 'parts.json')
/** How a node that is the machine itself was started last. */
export const nodeSettingsPath = (dataDir: string) => join(dataDir, 'settings.json')
export const nodeKubeconfigPath = (dataDir: string, user: NodeUser) => join(dataDir, 'pki', `${user}.kubeconfig`)
/** The serving certificate of the kubelet: key and certificate in one file. */
export const servingCertificatePath = (dataDir: string) => join(dataDir, 'pki', 'kubelet-server.pem')
/** Also for `sampan image`, which works on it beside the node. */
export const imagesDir = (dataDir: string) => join(dataDir, 'images')
/** Where trees of the machine are mounted for the host image. */
export const hostTreesDir = (dataDir: string) => join(dataDir, 'host-trees')
/** Volumes of pods, and what the kubelet remembers of them. */
export const kubeletDir = (dataDir: string) => join(dataDir, 'kubelet')
/** All of the node's own containerd. */
export const containerdDir = (dataDir: string) => join(dataDir, 'containerd')
export const clusterCaPath = (dataDir: string) => join(dataDir, 'pki', 'ca.pem')

/** A node acts as three users, each with the rights of its part alone. */
export type NodeUser = 'kubelet' | 'kube-proxy' | 'cluster-dns'
