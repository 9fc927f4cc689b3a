/** How much of what a stranger wrote is believed. */
export interface ImageLimits {
  /** Of one layer, unpacked. */
  readonly layerBytes: number
  readonly layerEntries: number
  /** Manifests, indexes and configurations. */
  readonly documentBytes: number
  /** Extended headers of one tar entry. */
  readonly headerBytes: number
  readonly layers: number
}

export const DEFAULT_LIMITS: ImageLimits = {
  layerBytes: 64 * 1024 ** 3,
  layerEntries: 4_000_000,
  documentBytes: 8 * 1024 ** 2,
  headerBytes: 1024 ** 2,
  // Overlay takes 500, but their names must fit a page.
  layers: 200,
}
