import { SIGNER } from '../../api/meta/well-known.ts'
import type { CertificateRequest } from './certificate-request.ts'

/** What is wrong with a request; undefined if the signer may sign it. */
type Check = (request: CertificateRequest, usages: ReadonlySet<string>) => string | undefined

/** Whom the cluster signs for, and what it demands of them. */
export const signers: Readonly<Record<string, Check>> = {
  [SIGNER.apiserverClient]: (_, usages) => checkClientUsages(usages),
  'kubernetes.io/kube-apiserver-client-kubelet': checkKubeletClient,
  [SIGNER.kubeletServing]: checkKubeletServing,
}

export const CLIENT_SIGNER = SIGNER.apiserverClient
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet'
export const KUBELET_SERVING_SIGNER = SIGNER.kubeletServing

const NODES = 'system:nodes'
const NODE_PREFIX = 'system:node:'

export function checkClientUsages(usages: ReadonlySet<string>): string | undefined {
  for (const usage of usages)
    if (!['digital signature', 'key encipherment', 'client auth'].includes(usage))
      return `invalid usage for client certificate: ${usage}`
  return usages.has('client auth') ? undefined : 'missing required usage for client certificate: client auth'
}

export function checkKubeletClient(request: CertificateRequest, usages: ReadonlySet<string>): string | undefined {
  if (!isOfNodes(request)) return 'subject organization is not system:nodes'
  if (request.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed'
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (request.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed'
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed'
  return checkNodeName(request) ?? checkExactUsages(usages, 'client auth')
}

export function checkKubeletServing(request: CertificateRequest, usages: ReadonlySet<string>): string | undefined {
  if (!isOfNodes(request)) return 'subject organization is not system:nodes'
  if (request.dnsNames.length + request.ipAddresses.length === 0) return 'DNS or IP subjectAltName is required'
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed'
  return checkExactUsages(usages, 'server auth') ?? checkNodeName(request)
}

const isOfNodes = ({ organizations }: CertificateRequest) => organizations.length === 1 && organizations[0] === NODES

const checkNodeName = ({ commonName }: CertificateRequest) =>
  commonName.startsWith(NODE_PREFIX) ? undefined : 'subject common name does not begin with system:node:'

/** Keys that cannot encipher (all but RSA) leave that usage out. */
function checkExactUsages(usages: ReadonlySet<string>, purpose: string): string | undefined {
  const optional = usages.has('key encipherment') ? 1 : 0
  const isExact = usages.has('digital signature') && usages.has(purpose) && usages.size === 2 + optional
  const wanted = ['digital signature', 'key encipherment', purpose].sort().join(' ')
  return isExact ? undefined : `usages did not match [${wanted}]`
}
