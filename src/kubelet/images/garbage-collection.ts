import type { Image, ImageService } from '../../container-runtime/image-service.ts'

export interface ImageCollectionLimits {
  /** Used part of the disk from which on images are removed, and down to which. */
  readonly highFraction: number
  readonly lowFraction: number
  /** Milliseconds that an image is spared after it was last used. */
  readonly minimumAge: number
}

export const DEFAULT_IMAGE_LIMITS: ImageCollectionLimits = { highFraction: 0.85, lowFraction: 0.8, minimumAge: 120_000 }

export interface DiskUse {
  readonly capacityBytes: number
  readonly availableBytes: number
}

/** The images to remove, those unused for longest first, until enough is free. */
export function imagesToRemove(
  images: readonly Image[],
  inUse: ReadonlySet<string>,
  lastUsed: ReadonlyMap<string, number>,
  disk: DiskUse,
  limits: ImageCollectionLimits,
  now: number,
): Image[] {
  const used = disk.capacityBytes - disk.availableBytes
  if (disk.capacityBytes === 0 || used / disk.capacityBytes < limits.highFraction) return []
  let excess = used - disk.capacityBytes * limits.lowFraction
  const age = ({ id }: Image) => lastUsed.get(id) ?? 0
  const chosen: Image[] = []
  for (const image of [...images].sort((a, b) => age(a) - age(b))) {
    if (excess <= 0) break
    if (image.pinned || inUse.has(image.id) || now - age(image) < limits.minimumAge) continue
    chosen.push(image)
    excess -= image.size
  }
  return chosen
}

export async function removeImages(service: ImageService, images: readonly Image[]): Promise<void> {
  for (const { id } of images) await service.remove(id)
}
