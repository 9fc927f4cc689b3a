import { X509Certificate } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import type { ClusterCertificates } from '../certificates.ts'
import { clusterCaPath, type NodeUser, nodeKubeconfigPath, servingCertificatePath } from '../node/node-settings.ts'
import { renderKubeconfig } from './render-kubeconfig.ts'

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

/** As much of its life a certificate has before it, at least, that is kept. */
const KEPT_SHARE = 0.75

/**
 * Whether what an earlier start wrote will do: a node that runs goes on with what it read, so only what is written
 * anew has to be read again.
 */
export async function hasNodeCredentials(options: NodeCredentialOptions, now: number): Promise<boolean> {
  const { address, dataDir, server, certificates } = options
  const read = (path: string) => readFile(path, 'utf8').catch(() => '')
  const isGood = (pem: string | Buffer, fits = (_: X509Certificate) => true) => {
    const certificate = readCertificate(pem)
    return certificate !== undefined && isYoung(certificate, now) && fits(certificate)
  }
  const ca = base64(certificates.ca.cert)
  const leadsHere = (kubeconfig: string) => kubeconfig.includes(`server: ${server}\n`) && kubeconfig.includes(ca)
  for (const user of Object.keys(NODE_USERS) as NodeUser[]) {
    const kubeconfig = await read(nodeKubeconfigPath(dataDir, user))
    const client = /client-certificate-data: (\S+)/.exec(kubeconfig)?.[1]
    if (!client || !leadsHere(kubeconfig) || !isGood(Buffer.from(client, 'base64'))) return false
  }
  const hasCa = (await read(clusterCaPath(dataDir))) !== ''
  return hasCa && isGood(await read(servingCertificatePath(dataDir)), (one) => one.checkIP(address) !== undefined)
}

function readCertificate(pem: string | Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

const isYoung = ({ validFrom, validTo }: X509Certificate, now: number) =>
  Date.parse(validTo) - now > (Date.parse(validTo) - Date.parse(validFrom)) * KEPT_SHARE

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Writes what a node needs to speak with the API server and to be spoken to. */
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
