/** What `sampan snapshot` does: saves the state of a cluster to one file, and brings it back. */
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { formatTime } from '../api/meta/time.ts'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { valueFor } from './configuration.ts'
import { findServer, type Instance, readSavedConfiguration } from './instance.ts'
import { askControl, controlSocketPath } from './processes/control-socket.ts'
import { UserError } from './user-error.ts'

/** What other commands need not load. */
const loadStore = async () => ({ ...(await import('./open-store.ts')), ...(await import('../store/snapshot.ts')) })

const placeOf = ({ dataDir }: Instance) => ({ dataDir, clock: systemClock, random: systemRandom })

/** Saves the state, of a running cluster too; returns its revision. */
export async function saveClusterSnapshot(instance: Instance, file: string): Promise<number> {
  await mkdir(dirname(file), { recursive: true })
  if (await findServer(instance)) {
    return (await askControl(controlSocketPath(instance.dataDir), 'snapshot', file)).revision
  }
  const { openStore, saveSnapshot, storeDirectory } = await loadStore()
  if (!existsSync(storeDirectory(instance.dataDir)))
    throw new UserError(`cluster ${instance.name} has no state in ${instance.dataDir}`)
  const store = await openStore({ type: 'embedded' }, placeOf(instance))
  try {
    return await saveSnapshot(store, file)
  } finally {
    await store[Symbol.asyncDispose]()
  }
}

export interface RestoredSnapshot {
  readonly revision: number
  /** Where the former state is, if there was one. */
  readonly formerState?: string
}

/** Makes a saved state the state of a stopped cluster. */
export async function restoreClusterSnapshot(instance: Instance, file: string): Promise<RestoredSnapshot> {
  await assertRestorable(instance, file)
  const { openStore, restoreSnapshot, storeDirectory } = await loadStore()
  const { adoptRanges } = await import('./local-nodes/network-ranges.ts')
  const directory = storeDirectory(instance.dataDir)
  const fresh = `${directory}.restoring`
  await rm(fresh, { recursive: true, force: true })
  await mkdir(instance.dataDir, { recursive: true, mode: 0o700 })
  const revision = await restoreSnapshot(file, fresh)
  const formerState = `${directory}.before-${formatTime(systemClock.now()).replaceAll(':', '')}`
  const hadState = existsSync(directory)
  if (hadState) await rename(directory, formerState)
  await rename(fresh, directory)
  const restored = await openStore({ type: 'embedded' }, placeOf(instance))
  await adoptRanges(instance.dataDir, restored).finally(() => restored[Symbol.asyncDispose]())
  return { revision, ...(hadState && { formerState }) }
}

async function assertRestorable(instance: Instance, file: string): Promise<void> {
  if (await findServer(instance))
    throw new UserError(`cluster ${instance.name} is running`, ['Stop it first: sampan down'])
  const store = valueFor(await readSavedConfiguration(instance), 'store')
  if (store !== 'embedded') throw new UserError(`only the embedded store can be restored; this cluster uses ${store}`)
  if (!existsSync(file)) throw new UserError(`there is no file ${file}`)
}
