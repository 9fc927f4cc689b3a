import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { openEmbeddedStore, openMemoryStore } from '../store/embedded.ts'
import type { Store } from '../store/store.ts'

/** Where a cluster keeps its state: in memory, in its data directory, or in etcd (`etcd://host:port,host:port`). */
export type StoreChoice = { type: 'memory' } | { type: 'embedded' } | { type: 'etcd'; endpoints: string[] }

/** Understands `memory`, `embedded` and `etcd://host:port,...`; throws a sentence a user can act on. */
export function parseStoreChoice(text: string): StoreChoice {
  if (text === 'memory' || text === 'embedded') return { type: text }
  const etcd = /^etcd(s?):\/\/(.+)$/.exec(text)
  if (!etcd) throw new Error(`${JSON.stringify(text)} is no store: use embedded, memory or etcd://host:port,host:port`)
  const scheme = etcd[1] === 's' ? 'https' : 'http'
  const endpoints = etcd[2]!.replace(/\/$/, '').split(',')
  const wrong = endpoints.find((endpoint) => !/^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+):\d{1,5}$/.test(endpoint))
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is no etcd endpoint: write host:port`)
  return { type: 'etcd', endpoints: endpoints.map((endpoint) => `${scheme}://${endpoint}`) }
}

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
  return openEtcdStore({ endpoints: choice.endpoints })
}
