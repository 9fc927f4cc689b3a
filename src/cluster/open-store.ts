import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { openEmbeddedStore, openMemoryStore } from '../store/embedded.ts'
import type { Store } from '../store/store.ts'
import type { StoreChoice } from './store-choice.ts'

export const storeDirectory = (dataDir: string) => join(dataDir, 'store')

export interface StorePlace {
  readonly dataDir?: string
  readonly clock: Clock
  readonly random: Random
}

export async function openStore(choice: StoreChoice, place: StorePlace): Promise<Store> {
  const { clock, random } = place
  if (choice.type === 'memory') return openMemoryStore({ clock })
  if (choice.type === 'embedded') {
    if (!place.dataDir) throw new Error('the embedded store needs a data directory')
    return openEmbeddedStore({ directory: storeDirectory(place.dataDir), clock, random })
  }
  const { openEtcdStore } = await import('../store/etcd.ts')
  return openEtcdStore({ endpoints: choice.endpoints, clock, ...(choice.tls && { tls: choice.tls }) })
}
