/**
 * What the kubelet asks of whatever runs containers: CRI's verbs and messages (runtime.v1), with the names in camel case.
 * Two differences: `exec`, `attach` and `portForward` return streams instead of URLs, and `events` always exists.
 *
 * Every call may be repeated: stopping what has stopped and removing what is gone succeed. State is the runtime's own and
 * survives both sides being killed: whoever starts anew lists what there is and goes on.
 */
import type { Duplex, Readable, Writable } from 'node:stream'
import type { ContainerConfig, LinuxContainerResources } from './container-config.ts'
import type { ImageService } from './image-service.ts'
import type { PodSandboxConfig, PodSandboxMetadata } from './sandbox-config.ts'

export interface ContainerRuntime extends AsyncDisposable {
  readonly images: ImageService

  version(): Promise<RuntimeVersion>
  status(): Promise<RuntimeStatus>

  /** Makes the pod's shared namespaces and its network; the id is the runtime's. */
  runPodSandbox(config: PodSandboxConfig): Promise<string>
  /** Ends every process of the pod and its network; the record stays until it is removed. */
  stopPodSandbox(id: string): Promise<void>
  /** Also removes the sandbox's containers. */
  removePodSandbox(id: string): Promise<void>
  /** Limits of the pod as a whole. */
  updatePodSandboxResources(id: string, resources: LinuxContainerResources): Promise<void>
  podSandboxStatus(id: string): Promise<PodSandboxStatus>
  listPodSandbox(filter?: SandboxFilter): Promise<readonly PodSandbox[]>

  createContainer(sandboxId: string, config: ContainerConfig, sandbox: PodSandboxConfig): Promise<string>
  /** Returns once the program runs; a program that cannot be executed is a RuntimeError with the reason. */
  startContainer(id: string): Promise<void>
  /** The stop signal, and SIGKILL after `graceSeconds`. Returns when the container has exited. */
  stopContainer(id: string, graceSeconds: number): Promise<void>
  removeContainer(id: string): Promise<void>
  containerStatus(id: string): Promise<ContainerStatus>
  listContainers(filter?: ContainerFilter): Promise<readonly Container[]>
  updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void>
  /** After the log file was renamed: writes go to a new one. */
  reopenContainerLog(id: string): Promise<void>

  exec(id: string, options: ExecOptions): Promise<ExecSession>
  attach(id: string, options: AttachOptions): Promise<ExecSession>
  /** One connection to a port on the pod's loopback. */
  portForward(sandboxId: string, port: number): Promise<Duplex>

  stats(filter?: ContainerFilter): Promise<readonly ContainerStats[]>
  sandboxStats(sandboxId?: string): Promise<readonly PodSandboxStats[]>
  /** Containers and sandboxes as they change, from now on. A slow reader may miss steps between, never the last one. */
  events(signal: AbortSignal): AsyncIterable<ContainerEvent>
}

export interface RuntimeVersion {
  readonly name: string
  readonly version: string
  readonly apiVersion: string
}

/** RuntimeReady and NetworkReady, with reason and message when they are not. */
export interface RuntimeStatus {
  readonly conditions: readonly RuntimeCondition[]
}

export interface RuntimeCondition {
  readonly type: string
  readonly status: boolean
  readonly reason?: string
  readonly message?: string
}

export type SandboxState = 'READY' | 'NOTREADY'
export type ContainerState = 'CREATED' | 'RUNNING' | 'EXITED' | 'UNKNOWN'

export interface SandboxFilter {
  readonly id?: string
  readonly state?: SandboxState
  readonly labels?: Readonly<Record<string, string>>
}

export interface ContainerFilter {
  readonly id?: string
  readonly sandboxId?: string
  readonly state?: ContainerState
  readonly labels?: Readonly<Record<string, string>>
}

/** Times are milliseconds since 1970, with fractions. */
export interface PodSandbox {
  readonly id: string
  readonly metadata: PodSandboxMetadata
  readonly state: SandboxState
  readonly createdAt: number
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface PodSandboxStatus extends PodSandbox {
  /** The pod's addresses, the primary one first; none with the node's network. */
  readonly ips: readonly string[]
  /** Where the network namespace is mounted, if the sandbox has its own. */
  readonly netnsPath?: string
}

export interface Container {
  /** Ids of the images that are volumes of it, if the runtime tells. */
  readonly imageVolumes?: readonly string[]
  readonly id: string
  readonly sandboxId: string
  readonly name: string
  /** How often it was started before. */
  readonly attempt: number
  readonly image: string
  readonly imageId: string
  readonly state: ContainerState
  readonly createdAt: number
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface ContainerStatus extends Container {
  readonly startedAt?: number
  readonly finishedAt?: number
  readonly exitCode?: number
  /** What was asked for and this machine cannot enforce: `cpu`, `memory`, `pids`. */
  readonly unenforcedLimits?: readonly string[]
  /** `Completed`, `Error`, `OOMKilled`, `ContainerCannotRun`, `StartError`. */
  readonly reason?: string
  readonly message?: string
  readonly logPath: string
  readonly pid?: number
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] }
}

export interface ExecOptions {
  readonly command: readonly string[]
  readonly tty?: boolean
  readonly stdin?: boolean
  readonly stdout?: boolean
  readonly stderr?: boolean
  /** Ends the command after this time, with exit code 137 (hooks and probes have a deadline). */
  readonly signal?: AbortSignal
  /** Nobody looks at the output before the end; only then can every runtime end the command by `signal`. */
  readonly captured?: boolean
}

export type AttachOptions = Omit<ExecOptions, 'command'>

/** A running command, or the terminal of a running container. With a tty everything comes on `stdout`. */
export interface ExecSession {
  readonly stdin: Writable | undefined
  readonly stdout: Readable | undefined
  readonly stderr: Readable | undefined
  /** The exit code; 0 for an attach that ended. Rejects only if the session itself failed. */
  readonly exited: Promise<number>
  resize(size: { readonly width: number; readonly height: number }): Promise<void>
  /** Ends the command (not the container of an attach). */
  close(): Promise<void>
}

/** cAdvisor's figures. CPU in nanoseconds since the start, memory in bytes. */
export interface ContainerStats {
  readonly containerId: string
  readonly sandboxId: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly timestamp: number
  readonly cpuNanoseconds: number
  readonly memoryUsageBytes: number
  readonly memoryWorkingSetBytes: number
  readonly memoryRssBytes: number
  readonly pageFaults: number
  readonly majorPageFaults: number
  readonly processes: number
  readonly filesystemUsedBytes: number
  readonly filesystemInodesUsed: number
}

export interface PodSandboxStats {
  readonly sandboxId: string
  readonly metadata: PodSandboxMetadata
  readonly timestamp: number
  readonly cpuNanoseconds: number
  readonly memoryUsageBytes: number
  readonly memoryWorkingSetBytes: number
  readonly processes: number
  readonly network: readonly NetworkInterfaceStats[]
}

export interface NetworkInterfaceStats {
  readonly name: string
  readonly rxBytes: number
  readonly rxErrors: number
  readonly txBytes: number
  readonly txErrors: number
}

export type ContainerEventType = 'CREATED' | 'STARTED' | 'STOPPED' | 'DELETED'

export interface ContainerEvent {
  readonly type: ContainerEventType
  /** A container's id, or the sandbox's own when the event is about the sandbox. */
  readonly containerId: string
  readonly sandboxId: string
}

/** Why a call failed, with gRPC's word for it. */
export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode
  /** The word for the container's status where there is one: `ErrImagePull`, `RunContainerError`, ... */
  readonly reason: string | undefined

  constructor(code: RuntimeErrorCode, message: string, options: { cause?: unknown; reason?: string } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'RuntimeError'
    this.code = code
    this.reason = options.reason
  }
}

export type RuntimeErrorCode =
  | 'NotFound'
  | 'AlreadyExists'
  | 'InvalidArgument'
  | 'FailedPrecondition'
  | 'Unavailable'
  | 'DeadlineExceeded'
  | 'Unimplemented'
  | 'Internal'
