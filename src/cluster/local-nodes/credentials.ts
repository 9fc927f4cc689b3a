import { X509Certificate } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import { renderKubeconfig } from '../admin-kubeconfig.ts'
import type { ClusterCertificates } from '../certificates.ts'
import { clusterCaPath, type NodeUser, nodeKubeconfigPath, servingCertificatePath } from '../node-settings.ts'

export interface NodeCredentialOptions {
  readonly node: string
  readonly address: string
  readonly dataDir: string
  /** Where the node finds the API server. */
  readonly server: string
  readonly certificates: ClusterCertificates
}

/** Who each part of a node is, in the names that Kubernetes' own roles are bound to. */
export const NODE_USERS: Readonly<
  Record<NodeUser, (node: string) => readonly [name: string, groups: readonly string[]]>
> = {
  kubelet: (node) => [`system:node:${node}`, ['system:nodes']],
  'kube-proxy': () => ['system:kube-proxy', []],
  'cluster-dns': () => ['system:coredns', []],
}

/** Writes what a node needs to speak with the API server and to be spoken to. Made anew at every start. */
export async function writeNodeCredentials(options: NodeCredentialOptions): Promise<void> {
  const { node, address, dataDir, server, certificates } = options
  const ca = certificates.ca.cert
  await mkdir(dirname(clusterCaPath(dataDir)), { recursive: true, mode: 0o700 })
  const kubeconfigs = Object.entries(NODE_USERS).map(([user, identify]) => {
    const [name, groups] = identify(node)
    const text = renderKubeconfig({ name, server, ca, client: certificates.issueClient(name, groups) })
    return writeFileAtomically(nodeKubeconfigPath(dataDir, user as NodeUser), text)
  })
  const serving = certificates.issueServer(`system:node:${node}`, ['system:nodes'], [node, address, '127.0.0.1'])
  await Promise.all([
    ...kubeconfigs,
    writeFileAtomically(servingCertificatePath(dataDir), serving.cert + serving.key),
    writeFileAtomically(clusterCaPath(dataDir), new X509Certificate(ca).toString()),
  ])
}
