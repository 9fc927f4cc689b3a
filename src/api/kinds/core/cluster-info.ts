import { createHmac, timingSafeEqual } from 'node:crypto'
import { NAMESPACE } from '../../meta/well-known.ts'
import type { BootstrapToken } from './bootstrap-token.ts'

/** The ConfigMap that anybody may read: how to reach the cluster, signed for every token that may be used to join it. */
export const CLUSTER_INFO = { namespace: NAMESPACE.public, name: 'cluster-info' }
export const CLUSTER_INFO_PATH = `/api/v1/namespaces/${CLUSTER_INFO.namespace}/configmaps/${CLUSTER_INFO.name}`
export const CLUSTER_INFO_KUBECONFIG = 'kubeconfig'
export const SIGNATURE_PREFIX = 'jws-kubeconfig-'

const base64url = (text: string) => Buffer.from(text).toString('base64url')

/** A JSON Web Signature whose payload is left out (RFC 7515, appendix F): kubeadm compares the text byte by byte. */
export function detachedSignature(content: string, { id, secret }: BootstrapToken): string {
  const header = base64url(JSON.stringify({ alg: 'HS256', kid: id }))
  const signature = createHmac('sha256', secret)
    .update(`${header}.${base64url(content)}`)
    .digest('base64url')
  return `${header}..${signature}`
}

export function isSignedFor(content: string, token: BootstrapToken, signature: string): boolean {
  const [found, wanted] = [Buffer.from(signature), Buffer.from(detachedSignature(content, token))]
  return found.length === wanted.length && timingSafeEqual(found, wanted)
}
