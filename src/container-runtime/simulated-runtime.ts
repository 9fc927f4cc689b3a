import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { ContainerConfig, LinuxContainerResources } from './container-config.ts'
import type { ContainerRuntime } from './runtime.ts'
import { type SimulatedImageOptions, SimulatedImages } from './simulated/images.ts'
import { SimulatedPods } from './simulated/pods.ts'

export type { SimulatedImageOptions } from './simulated/images.ts'

/** What a simulated container does once it is started. Times are milliseconds. */
export interface SimulatedProgram {
  /** When it ends by itself; without it, it runs until it is stopped. */
  readonly exitAfter?: number
  readonly exitCode?: number
  /** `OOMKilled` for one that was; `Completed` or `Error` by its exit code otherwise. */
  readonly reason?: string
  /** How long it takes to end after the stop signal; Infinity ignores it. At once without. */
  readonly stopAfter?: number
  readonly stopExitCode?: number
  readonly createError?: string
  readonly startError?: string
  /** Lines it writes to its log when it starts. */
  readonly output?: readonly string[]
  /** What it leaves in the file mounted at this path of the container, when it ends. */
  readonly leaves?: { readonly path: string; readonly text: string }
}

export interface SimulatedExec {
  readonly exitCode?: number
  readonly stdout?: string
  readonly stderr?: string
  /** Milliseconds it takes. */
  readonly takes?: number
}

export interface SimulatedRuntimeOptions {
  readonly clock: Clock
  readonly random: Random
  /** By what is known of the container; one that runs until it is stopped without. */
  readonly program?: (config: ContainerConfig) => SimulatedProgram
  /** What commands run in containers do; success without. */
  readonly exec?: (config: ContainerConfig, command: readonly string[]) => SimulatedExec
  readonly images?: SimulatedImageOptions
  /** A sandbox fails with this message as long as there is one. */
  readonly sandboxError?: () => string | undefined
}

/** A runtime in memory: strict about states, programmable per container. What outlives a kubelet is this object. */
export interface SimulatedRuntime extends ContainerRuntime {
  readonly images: SimulatedImages
  /** Ends a container as if its program had. */
  exit(containerId: string, exitCode: number, reason?: string): void
  /** The configuration a container was created with. */
  configOf(containerId: string): ContainerConfig
  /** What it has now. */
  resourcesOf(containerId: string): LinuxContainerResources
}

export function simulatedRuntime(options: SimulatedRuntimeOptions): SimulatedRuntime {
  const images = new SimulatedImages(options.images ?? {}, options.clock)
  return new SimulatedPods(options, images)
}
