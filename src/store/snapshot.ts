import { join } from 'node:path'
import { CorruptStoreError } from './corruption.ts'
import { diskFiles } from './embedded/disk-files.ts'
import { readSnapshot, writeSnapshot } from './embedded/snapshot-format.ts'
import { snapshotName } from './embedded/snapshots.ts'
import type { StoreFiles } from './files.ts'
import { CompactedError, type Entry, type Revision, type Store } from './store.ts'

const PAGE = 500
const ATTEMPTS = 5

/** Writes the whole store as it is at one revision to one file, while writes go on; returns the revision. */
export async function saveSnapshot(store: Store, file: string, files: StoreFiles = diskFiles): Promise<Revision> {
  for (let attempt = 1; ; attempt++) {
    const revision = await store.revision()
    try {
      await writeSnapshot(files, file, revision, pagesAt(store, revision))
      return revision
    } catch (error) {
      // Compacted while it was being read: start over at a newer revision.
      if (!(error instanceof CompactedError) || attempt === ATTEMPTS) throw error
    }
  }
}

async function* pagesAt(store: Store, at: Revision): AsyncGenerator<readonly Entry[]> {
  let after: string | undefined
  for (;;) {
    const { entries, remaining } = await store.list('', { after, limit: PAGE, at })
    yield entries
    if (remaining === 0 || entries.length === 0) return
    after = entries.at(-1)!.key
  }
}

/** Checks the file through and makes it the content of an empty directory; returns the revision. */
export async function restoreSnapshot(
  file: string,
  directory: string,
  files: StoreFiles = diskFiles,
): Promise<Revision> {
  await files.makeDirectory(directory)
  const unlock = await files.lock(directory)
  try {
    const found = (await files.list(directory)).filter((name) => !name.startsWith('lock'))
    if (found.length > 0) throw new Error(`${directory} is not empty (${found[0]}): restore into an empty directory`)
    return await copySnapshot(files, file, directory)
  } finally {
    await unlock()
  }
}

async function copySnapshot(files: StoreFiles, file: string, directory: string): Promise<Revision> {
  let revision: Revision = 0
  const bytes = await readSnapshot(files, file, {
    begin(at) {
      revision = at
    },
    entry: () => {},
  })
  const temporary = join(directory, 'restored.tmp')
  await copyFile(files, file, temporary, bytes)
  // Checked again as it arrived, before it gets the name under which the store finds it.
  await readSnapshot(files, temporary, { begin: () => {}, entry: () => {} })
  await files.rename(temporary, join(directory, snapshotName(revision)))
  await files.syncDirectory(directory)
  return revision
}

async function copyFile(files: StoreFiles, from: string, to: string, bytes: number): Promise<void> {
  const source = await files.open(from, 'read')
  const target = await files.open(to, 'create')
  try {
    const buffer = Buffer.allocUnsafeSlow(1 << 20)
    for (let at = 0; at < bytes; ) {
      const count = await source.read(buffer, at)
      if (count === 0) throw new CorruptStoreError(from, at, 'it became shorter while it was read')
      await target.write(buffer.subarray(0, count), at)
      at += count
    }
    await target.sync()
  } finally {
    await source.close()
    await target.close()
  }
}
