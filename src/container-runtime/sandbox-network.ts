import type { PodSandboxMetadata, PortMapping } from './sandbox-config.ts'

/** What runtimes need of the pod network; both calls may be repeated. */
export interface SandboxNetwork {
  /** Makes the sandbox's network namespace, with loopback up and, as a rule, addresses and a way out. */
  attach(sandbox: {
    readonly sandboxId: string
    readonly metadata: PodSandboxMetadata
    readonly portMappings: readonly PortMapping[]
    readonly annotations: Readonly<Record<string, string>>
    /** A runtime that makes the namespace itself says where it is. */
    readonly netnsPath?: string
  }): Promise<{ readonly netnsPath: string; readonly ips: readonly string[] }>
  detach(sandboxId: string): Promise<void>
}
