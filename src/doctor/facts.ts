/** What the CIS profile asks of a running cluster and its machine. `gather/` finds it out; tests make it up. */
import type { Namespace, Pod, Secret, Service, ServiceAccount } from '../api/generated/core-v1.ts'
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '../api/generated/rbac-v1.ts'

export interface CisFacts {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** User id of the server's process: whose all files should be. */
  readonly owner: number
  readonly files: readonly FileFact[]
  readonly server: ServerFacts
  /** Undefined where nothing is audited. */
  readonly audit: AuditFacts | undefined
  /** Undefined where nothing is encrypted. */
  readonly encryption: EncryptionFacts | undefined
  /** Undefined where the store is no etcd. */
  readonly etcd: EtcdFacts | undefined
  /** Those with a real kubelet. */
  readonly nodes: readonly NodeFacts[]
  readonly objects: ObjectFacts
}

export type FileRole =
  | 'settings'
  | 'store'
  | 'admin kubeconfig'
  | 'component kubeconfig'
  | 'pki'
  | 'certificate'
  | 'private key'
  | 'pod network'
  | 'node record'
  | 'node settings'
  | 'kubelet kubeconfig'
  | 'kube-proxy kubeconfig'
  | 'node authority'

export interface FileFact {
  readonly role: FileRole
  readonly path: string
  /** Permission bits. */
  readonly mode: number
  readonly uid: number
}

/** What a TLS port offers. */
export interface TlsFacts {
  /** The certificate is signed by the cluster's authority and good for this address. */
  readonly isTrusted: boolean
  /** Old protocols and weak cipher suites that it accepted. */
  readonly weak: readonly string[]
  readonly certificate: CertificateFact
}

export interface CertificateFact {
  readonly subject: string
  readonly issuer: string
  /** Milliseconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
}

/** What came of a write that was only tried. */
export interface Attempt {
  readonly isAdmitted: boolean
  /** The message of the refusal, or what the object became. */
  readonly answer: string
}

export interface ServerFacts {
  /** HTTP status of GET /api without credentials. */
  readonly anonymousStatus: number
  /** HTTP status of GET /api with the administrator's certificate. */
  readonly certificateStatus: number
  /** HTTP status of GET /debug/pprof/ as administrator. */
  readonly profilingStatus: number
  readonly tls: TlsFacts
  /** What the server was started with, by the names of flags; none if it does not tell. */
  readonly flags: Readonly<Record<string, string>>
  /** Addresses at which its process listens, besides that of the API and those of this machine alone. */
  readonly otherListeners: readonly string[]
  /** Whether the answers of the authorizers are yes. */
  readonly access: Readonly<Record<AccessProbe, boolean>>
  readonly admission: Readonly<Record<AdmissionProbe, Attempt>>
  /** In seconds: asked for in a token request, and found in the token. */
  readonly tokenLifetime: { readonly asked: number; readonly got: number }
  /** Namespaces whose kube-root-ca.crt is not the authority of the cluster. */
  readonly namespacesWithoutRootCa: readonly string[]
}

export type AccessProbe =
  /** A user without any rights deletes namespaces. */
  | 'stranger deletes namespaces'
  /** A node reads itself, which only the node authorizer allows. */
  | 'node reads itself'
  /** Every authenticated user reads /version, which only a default role allows. */
  | 'role lets users read the version'
  /** kube-controller-manager creates pods with its own identity. */
  | 'controller manager creates pods'

export type AdmissionProbe =
  | 'pod of a missing service account'
  | 'object in a missing namespace'
  | 'label of another node by a node'
  | 'service with external addresses'
  | 'pod that does not pull its image'

export interface AuditFacts {
  readonly logPath: string
  /** Whether the server's process has that file open. */
  readonly isLogOpen: boolean
  readonly rules: readonly AuditRuleFact[]
}

export interface AuditRuleFact {
  readonly level: string
  /** Empty for all. */
  readonly resources: readonly string[]
}

export interface EncryptionFacts {
  readonly path: string
  /** By resource, the provider that new values are encrypted with. */
  readonly firstProviders: Readonly<Record<string, string>>
}

export interface EtcdFacts {
  readonly endpoints: readonly EtcdEndpointFact[]
  /** Whether the API server shows a certificate of its own. */
  readonly hasClientCertificate: boolean
  /** Whether the API server checks whom it talks to. */
  readonly hasAuthority: boolean
  /** Whether etcd's authority also signs the cluster's certificates. */
  readonly isAuthorityShared: boolean
}

export interface EtcdEndpointFact {
  readonly address: string
  /** Undefined if it does not speak TLS. */
  readonly certificate: CertificateFact | undefined
  /** Whether it goes on with a client that shows no certificate. */
  readonly acceptsAnyClient: boolean
}

export interface NodeFacts {
  readonly name: string
  /** Undefined if its kubelet cannot be reached from this machine. */
  readonly kubelet: KubeletFacts | undefined
  /** The kubelet's answer at /configz; empty if it gave none. */
  readonly configuration: KubeletConfigurationFacts
  /** Certificate by which the kubelet reaches the API; undefined if its files are on another machine. */
  readonly clientCertificate: CertificateFact | undefined
  /** Processes of its pods whose container names no seccomp profile; undefined if none can be seen. */
  readonly seccomp: { readonly filtered: number; readonly unfiltered: number } | undefined
}

export interface KubeletFacts {
  readonly address: string
  readonly anonymousStatus: number
  /** With a certificate of the cluster that gives no rights on nodes; undefined if there is none at hand. */
  readonly strangerStatus: number | undefined
  readonly administratorStatus: number
  readonly tls: TlsFacts
  readonly isReadOnlyPortOpen: boolean
  readonly isProxyMetricsPortOpen: boolean
}

export interface KubeletConfigurationFacts {
  readonly readOnlyPort?: number
  readonly podPidsLimit?: number
  readonly seccompDefault?: boolean
  readonly streamingConnectionIdleTimeout?: string
  readonly eventRecordQPS?: number
}

export type PodProbe =
  | 'privileged'
  | 'host PID'
  | 'host IPC'
  | 'host network'
  | 'privilege escalation'
  | 'root'
  | 'NET_RAW'
  | 'capabilities'
  | 'HostProcess'
  | 'host path'
  | 'host port'

export interface ObjectFacts {
  readonly namespaces: readonly Namespace[]
  readonly pods: readonly Pod[]
  readonly services: readonly Service[]
  readonly secrets: readonly Secret[]
  readonly serviceAccounts: readonly ServiceAccount[]
  readonly roles: readonly (Role | ClusterRole)[]
  readonly bindings: readonly (RoleBinding | ClusterRoleBinding)[]
  /** Namespaces with at least one NetworkPolicy. */
  readonly namespacesWithNetworkPolicy: readonly string[]
  /** Names of client certificates that were issued by request to people. */
  readonly userCertificates: readonly string[]
  /** Policies and webhooks that look at pods. */
  readonly podPolicies: readonly string[]
  /** By what a pod wishes: the namespaces of users that admit it. */
  readonly admits: Readonly<Record<PodProbe, readonly string[]>>
}
