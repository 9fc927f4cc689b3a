import { join } from 'node:path'
import type { StoreFiles } from '../files.ts'
import type { Revision } from '../store.ts'
import { readSnapshot } from './snapshot-format.ts'
import { State } from './state.ts'

/** Snapshots in the store's own directory: the state the log starts from. */
export const snapshotName = (revision: Revision): string => `${String(revision).padStart(16, '0')}.snapshot`

const isSnapshot = (name: string): boolean => /^\d{16}\.snapshot$/.test(name)

/** The state of the newest snapshot, or the empty state. Older ones are left over from a crash and removed. */
export async function loadNewestSnapshot(
  files: StoreFiles,
  directory: string,
  names: readonly string[],
): Promise<{ state: State; bytes: number }> {
  const snapshots = names.filter(isSnapshot).sort()
  const newest = snapshots.pop()
  if (newest === undefined) return { state: new State(), bytes: 0 }
  const path = join(directory, newest)
  let state = new State()
  const bytes = await readSnapshot(files, path, {
    begin(revision) {
      state = new State(revision, revision)
    },
    entry: (entry) => state.load(entry),
  })
  for (const older of snapshots) await files.remove(join(directory, older))
  return { state, bytes }
}
