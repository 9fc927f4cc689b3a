import type { LinuxContainerResources } from './container-config.ts'

/** Which pod a sandbox is for; `attempt` counts the sandboxes the pod had before. */
export interface PodSandboxMetadata {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly attempt: number
}

export interface PodSandboxConfig {
  readonly metadata: PodSandboxMetadata
  /** That of the node for pods on its network. */
  readonly hostname: string
  /** Where the containers' log files are; a container's `logPath` is relative to it. */
  readonly logDirectory: string
  readonly dns: DnsConfig
  readonly portMappings: readonly PortMapping[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** The pod's cgroup, made by the runtime: `/kubepods/burstable/pod<uid>`. */
  readonly cgroupParent: string
  /** Limits of the pod as a whole. */
  readonly resources?: LinuxContainerResources
  readonly sysctls: Readonly<Record<string, string>>
  readonly namespaces: NamespaceOptions
  /** One of its containers is, or may be. */
  readonly privileged?: boolean
  readonly runtimeHandler?: string
}

/** `POD`: shared by the pod's containers. `NODE`: the node's own. `CONTAINER`: one for each. */
export type NamespaceMode = 'POD' | 'NODE' | 'CONTAINER'

export interface NamespaceOptions {
  readonly network: 'POD' | 'NODE'
  readonly pid: NamespaceMode
  readonly ipc: 'POD' | 'NODE'
  /** A user namespace of its own: ids of the node each range stands for. */
  readonly user?: { readonly uids: readonly IdMapping[]; readonly gids: readonly IdMapping[] }
}

export interface IdMapping {
  readonly containerId: number
  readonly hostId: number
  readonly length: number
}

export interface DnsConfig {
  readonly servers: readonly string[]
  readonly searches: readonly string[]
  readonly options: readonly string[]
}

export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly containerPort: number
  readonly hostPort: number
  readonly hostIp?: string
}
