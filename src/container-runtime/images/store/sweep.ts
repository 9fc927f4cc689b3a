import fs from 'node:fs'
import path from 'node:path'
import { removeTree } from '../../../linux/remove-tree.ts'
import type { ImageIndex } from './image-index.ts'
import type { Layers } from './layers.ts'
import type { StoreFolder } from './store-folder.ts'

export interface Sweepable {
  readonly folder: StoreFolder
  readonly index: ImageIndex
  readonly layers: Layers
}

/** What dead processes left of their work. */
export async function clearLeft(folder: StoreFolder): Promise<void> {
  await Promise.all(folder.leases().left.map(removeTree))
}

/**
 * Removes images that have no name and no container, and layers of no image. Under the lock they only move aside: that is
 * a moment, while deleting takes long. While somebody pulls, layers stay: they may be what the new image stands on.
 */
export async function sweep(store: Sweepable, inUse: () => Promise<Iterable<string>>): Promise<void> {
  const { folder, index, layers } = store
  const used = new Set(await inUse())
  const lease = folder.lease()
  try {
    await folder.locked(async () => {
      const records = index.read()
      const kept = records.filter(({ id, removed }) => !removed || used.has(id))
      if (kept.length < records.length) await index.write(kept)
      if (folder.leases().live.some((live) => live !== lease)) return
      const needed = new Set(kept.flatMap(({ top }) => layers.stack(top)?.map(({ id }) => id) ?? []))
      for (const id of layers.list())
        if (!needed.has(id)) fs.renameSync(path.join(folder.layers, id), path.join(lease, id))
    })
  } finally {
    await removeTree(lease)
  }
}
