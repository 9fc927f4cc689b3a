import type { Mount } from './container-config.ts'

/** What a container is made of: folders to stack, and what the image says about running it. */
export interface ImageContent {
  /** Read-only folders, the topmost first; never changed while a container uses them. */
  readonly layers: readonly string[]
  /** Folders of the host that belong into every container of this image, read-only. */
  readonly mounts: readonly Mount[]
  readonly config: ImageConfig
}

/** The part of an OCI image configuration that matters for running it. */
export interface ImageConfig {
  readonly user: string
  readonly env: readonly string[]
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
  readonly workingDir: string
  readonly stopSignal: string
}

export interface ImageContents {
  /** Rejects with a NotFound RuntimeError if the image is not here. `annotations` are the pod's (the host image asks one). */
  content(imageId: string, annotations: Readonly<Record<string, string>>): Promise<ImageContent>
}
