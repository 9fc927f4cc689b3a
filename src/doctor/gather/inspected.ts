import type { HttpTransport } from '../../client/http-transport.ts'

/** The cluster that is examined: where it is, how it was started, and how to reach it as administrator. */
export interface Inspected {
  readonly dataDir: string
  /** Process id of its server. */
  readonly pid: number
  /** `https://127.0.0.1:6443` */
  readonly url: string
  readonly store: string
  readonly hasKubelets: boolean
  /** Kubeconfigs that were given its credentials, besides that of the data directory. */
  readonly kubeconfigs: readonly string[]
  readonly files: { readonly auditPolicy?: string; readonly auditLog?: string; readonly encryption?: string }
  readonly etcd: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  readonly api: HttpTransport
  /** PEM. */
  readonly credentials: Credentials
}

export interface Credentials {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}
