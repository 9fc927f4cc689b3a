import type { Readable } from 'node:stream'
import type { Configuration } from './documents.ts'

/** Where the bytes of one image come from: a registry, an archive, a folder. */
export interface ImageSource {
  /** The digest of the configuration. */
  readonly id: string
  readonly configuration: Configuration
  /** The lowest first, one for each diff id. */
  readonly layers: readonly LayerSource[]
  /** What to call it: `docker.io/library/busybox:1.36`, and `…@sha256:…`. */
  readonly tags: readonly string[]
  readonly digests: readonly string[]
}

export interface LayerSource {
  /** What progress is told about: the digest of the blob, or the name in the archive. */
  readonly name: string
  readonly size: number
  /** Brings it to where it can be read, as compressed as it is; its digest is right. Done ahead of `open`. */
  fetch(signal: AbortSignal, onBytes: (received: number) => void): Promise<void>
  open(): Readable
  /** It is unpacked, or not needed after all. */
  discard(): Promise<void>
}
