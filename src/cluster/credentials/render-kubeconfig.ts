import type { KeyPair } from '../certificates.ts'

export interface KubeconfigParts {
  /** The name of the context, the cluster and the user. */
  readonly name: string
  readonly server: string
  readonly ca: string
  readonly client: KeyPair
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** A kubeconfig with one context. Names are quoted; everything else is a URL or base64, so no YAML library is needed. */
export function renderKubeconfig({ name, server, ca, client }: KubeconfigParts): string {
  const quoted = JSON.stringify(name)
  return `apiVersion: v1
kind: Config
clusters:
- name: ${quoted}
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(ca)}
users:
- name: ${quoted}
  user:
    client-certificate-data: ${base64(client.cert)}
    client-key-data: ${base64(client.key)}
contexts:
- name: ${quoted}
  context:
    cluster: ${quoted}
    user: ${quoted}
current-context: ${quoted}
`
}

/** A kubeconfig that names a cluster and nobody who uses it: the form in which cluster-info tells where the cluster is. */
export function renderClusterInfo({ server, ca }: Pick<KubeconfigParts, 'server' | 'ca'>): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: ""
  cluster:
    certificate-authority-data: ${base64(ca)}
    server: ${server}
contexts: null
current-context: ""
preferences: {}
users: null
`
}
