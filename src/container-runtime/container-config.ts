import type { NamespaceOptions } from './sandbox-config.ts'

export interface ContainerConfig {
  readonly name: string
  readonly attempt: number
  /** What `images.pull` or `images.status` returned as the id. */
  readonly imageId: string
  /** As the user wrote it. */
  readonly image: string
  /** Empty: the image's entrypoint and command. */
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly workingDir: string
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly mounts: readonly Mount[]
  readonly devices: readonly Device[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Relative to the sandbox's log directory: `web/0.log`. */
  readonly logPath: string
  readonly stdin: boolean
  readonly stdinOnce: boolean
  readonly tty: boolean
  /** A signal's name (`SIGUSR1`); the image's own, else SIGTERM. */
  readonly stopSignal?: string
  readonly resources: LinuxContainerResources
  readonly security: SecurityContext
}

export interface Mount {
  readonly containerPath: string
  readonly hostPath: string
  readonly readonly: boolean
  readonly recursiveReadonly?: boolean
  readonly propagation: 'PRIVATE' | 'HOST_TO_CONTAINER' | 'BIDIRECTIONAL'
  /** In place of `hostPath`: what is in an image, or in a folder of it. Never written to, and not for programs. */
  readonly image?: { readonly id: string; readonly subPath?: string }
}

export interface Device {
  readonly containerPath: string
  readonly hostPath: string
  /** Of `r`, `w`, `m`. */
  readonly permissions: string
}

/** What is absent is not limited (or, for an update, not changed). */
export interface LinuxContainerResources {
  readonly cpuShares?: number
  readonly cpuQuota?: number
  readonly cpuPeriod?: number
  readonly memoryLimitBytes?: number
  readonly memorySwapLimitBytes?: number
  readonly pidsLimit?: number
  readonly cpusetCpus?: string
  readonly oomScoreAdj?: number
  readonly hugepageLimits?: Readonly<Record<string, number>>
}

export interface SecurityContext {
  readonly privileged: boolean
  readonly namespaces: NamespaceOptions
  /** A number, or a name of the image's /etc/passwd; the image's user if neither is given. */
  readonly runAsUser?: number
  readonly runAsUsername?: string
  readonly runAsGroup?: number
  readonly supplementalGroups: readonly number[]
  /** `Strict`: the groups of the image's /etc/group are not added. */
  readonly supplementalGroupsPolicy: 'Merge' | 'Strict'
  readonly readonlyRootfs: boolean
  readonly noNewPrivileges: boolean
  /** Without `CAP_`; `ALL` stands for every one. */
  readonly addCapabilities: readonly string[]
  readonly dropCapabilities: readonly string[]
  readonly seccomp: SeccompProfile
  /** Empty with `procMount: Unmasked`. */
  readonly maskedPaths: readonly string[]
  readonly readonlyPaths: readonly string[]
}

export type SeccompProfile =
  | { readonly type: 'RuntimeDefault' | 'Unconfined' }
  | { readonly type: 'Localhost'; readonly path: string }
