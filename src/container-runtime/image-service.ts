/** Images of one node: CRI's ImageService, with progress and import besides. */
export interface ImageService {
  list(): Promise<readonly Image[]>
  /** By reference (`busybox:1.36`), digest or id; undefined if it is not here. */
  status(reference: string): Promise<Image | undefined>
  /** Fetches and unpacks; returns the image. Two pulls of one reference share the work. */
  pull(reference: string, options?: PullOptions): Promise<Image>
  /** Removes one reference by its name, or the whole image by its id. Not an error if it is gone. */
  remove(reference: string): Promise<void>
  /** A docker-archive or OCI-layout tar file, or an OCI-layout folder. Returns what it brought. */
  import(path: string): Promise<readonly Image[]>
  fsInfo(): Promise<ImageFilesystem>
}

export interface PullOptions {
  readonly auth?: RegistryAuth
  readonly onProgress?: (progress: PullProgress) => void
  readonly signal?: AbortSignal
}

export interface RegistryAuth {
  readonly username?: string
  readonly password?: string
  readonly identityToken?: string
  readonly registryToken?: string
}

export interface PullProgress {
  readonly layer: string
  readonly received: number
  readonly total: number
}

export interface Image {
  /** The digest of the image's configuration: `sha256:…`. */
  readonly id: string
  readonly repoTags: readonly string[]
  readonly repoDigests: readonly string[]
  readonly size: number
  /** From the configuration; `uid` when the image's user is a number, else `username`. */
  readonly uid?: number
  readonly username?: string
  readonly pinned: boolean
}

export interface ImageFilesystem {
  readonly mountpoint: string
  readonly usedBytes: number
  readonly inodesUsed: number
}
