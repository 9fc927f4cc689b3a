import { X509Certificate } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SIGNER } from '../../api/meta/well-known.ts'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../client/client.ts'
import { connectionOf, loadKubeconfig } from '../../client/kubeconfig.ts'
import type { KeyPair } from '../certificates.ts'
import { NODE_USERS } from '../credentials/node-credentials.ts'
import { renderKubeconfig } from '../credentials/render-kubeconfig.ts'
import { clusterCaPath, type NodeUser, nodeKubeconfigPath, servingCertificatePath } from '../node/node-settings.ts'
import { requestCertificate, type WantedCertificate } from './request-certificate.ts'

/** Every certificate of a node: those of the users that its parts are, and the one that its kubelet serves with. */
export type CertificateUse = NodeUser | 'serving'
export const CERTIFICATE_USES: readonly CertificateUse[] = ['kubelet', 'kube-proxy', 'cluster-dns', 'serving']

export interface NodeIdentity {
  readonly name: string
  readonly address: string
  /** The node's own folder. */
  readonly dataDir: string
}

function wanted({ name, address }: NodeIdentity, use: CertificateUse): WantedCertificate {
  const [commonName, organizations] = NODE_USERS[use === 'serving' ? 'kubelet' : use](name)
  const subject = { commonName, organizations }
  if (use === 'serving')
    return {
      subject: { ...subject, subjectAltNames: [name, address] },
      signerName: SIGNER.kubeletServing,
      use: 'server auth',
    }
  const signer = use === 'kubelet' ? 'kube-apiserver-client-kubelet' : 'kube-apiserver-client'
  return { subject, signerName: `kubernetes.io/${signer}`, use: 'client auth' }
}

export const askFor = (client: Client, identity: NodeIdentity, use: CertificateUse, clock: Clock): Promise<KeyPair> =>
  requestCertificate(client, wanted(identity, use), clock)

export interface ClusterAddress {
  readonly server: string
  readonly ca: string
}

/** Puts certificates where the parts of a node look for them. */
export async function writeCertificates(
  { name, dataDir }: NodeIdentity,
  { server, ca }: ClusterAddress,
  pairs: Readonly<Partial<Record<CertificateUse, KeyPair>>>,
): Promise<void> {
  await mkdir(dirname(clusterCaPath(dataDir)), { recursive: true, mode: 0o700 })
  await writeFileAtomically(clusterCaPath(dataDir), ca)
  for (const use of CERTIFICATE_USES) {
    const pair = pairs[use]
    if (!pair) continue
    if (use === 'serving') await writeFileAtomically(servingCertificatePath(dataDir), pair.cert + pair.key)
    else {
      const [user] = NODE_USERS[use](name)
      const text = renderKubeconfig({ name: user, server, ca, client: pair })
      await writeFileAtomically(nodeKubeconfigPath(dataDir, use), text)
    }
  }
}

/** Undefined if there is none. */
export async function readCertificate(dataDir: string, use: CertificateUse): Promise<X509Certificate | undefined> {
  try {
    if (use === 'serving') return new X509Certificate(await readFile(servingCertificatePath(dataDir)))
    const { cert } = await connectionOf(await loadKubeconfig([nodeKubeconfigPath(dataDir, use)]))
    return cert === undefined ? undefined : new X509Certificate(cert)
  } catch {
    return undefined
  }
}
